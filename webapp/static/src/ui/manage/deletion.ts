/** Exports all data of a task, and deletes it after its name was typed. */

import { manage } from "../../i18n/texts/owners/dashboard/manage";
import { requestJson } from "../lib/api";
import { requireElement } from "../lib/dom";
import { onSubmit } from "../lib/forms";
import { saveWhenReady } from "../task/version-files";

/** Binds the button by which those who may change the task download all of it, if it is there. */
export function bindTaskExport(page: HTMLElement, task: string): void {
  page.querySelector("[data-export]")?.addEventListener("click", () => {
    void saveWhenReady(`/api/tasks/${task}/export`, requireElement(page, "export-state"));
  });
}

/** Binds the part of the page for those who may delete the task. */
export function bindTaskDeletion(page: HTMLElement, task: string): void {
  const form = page.querySelector<HTMLFormElement>("[data-delete-form]");
  if (!form) return;
  onSubmit(form, requireElement(page, "delete-problem"), async (data) => {
    if (data.get("name") !== task || !confirm(manage.questionDelete)) return;
    await requestJson("DELETE", `/api/tasks/${task}`);
    location.assign("/account");
  });
}
