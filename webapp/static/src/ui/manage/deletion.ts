/** Taking everything of a task away, and deleting it once its name was typed. */

import { say } from "../../i18n";
import { ask } from "../lib/api";
import { part } from "../lib/dom";
import { onSubmit } from "../lib/forms";
import { saveWhenMade } from "../task/version-files";

/** Binds the part of the page that only those have who may delete the task. */
export function bindDeleting(page: HTMLElement, task: string): void {
  const form = page.querySelector<HTMLFormElement>("[data-delete-form]");
  if (!form) return;
  part(page, "export").addEventListener("click", () => {
    void saveWhenMade(`/api/tasks/${task}/export`, part(page, "export-state"));
  });
  onSubmit(form, part(page, "delete-problem"), async (data) => {
    if (data.get("name") !== task || !confirm(say.manage.questionDelete)) return;
    await ask("DELETE", `/api/tasks/${task}`);
    location.assign("/account");
  });
}
