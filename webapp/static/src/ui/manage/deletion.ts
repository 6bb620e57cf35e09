/** Exports all data of a task, and deletes it after its name was typed. */

import { manage } from "../../i18n/texts/owners/manage";
import { requestJson } from "../lib/api";
import { requireElement } from "../lib/dom";
import { onSubmit } from "../lib/forms";
import { saveWhenReady } from "../task/version-files";

/** Binds the part of the page for those who may delete the task. */
export function bindTaskDeletion(page: HTMLElement, task: string): void {
  const form = page.querySelector<HTMLFormElement>("[data-delete-form]");
  if (!form) return;
  requireElement(page, "export").addEventListener("click", () => {
    void saveWhenReady(`/api/tasks/${task}/export`, requireElement(page, "export-state"));
  });
  onSubmit(form, requireElement(page, "delete-problem"), async (data) => {
    if (data.get("name") !== task || !confirm(manage.questionDelete)) return;
    await requestJson("DELETE", `/api/tasks/${task}`);
    location.assign("/account");
  });
}
