/** The button on the page of a version by which its owner rolls the task back to it. */

import { manage } from "../../i18n/texts/owners/dashboard/manage";
import { requestJson, showRefusal } from "../lib/api";
import { enableButtons, requireElement } from "../lib/dom";

/** Binds the button, if the page has it. */
export function bindRollback(): void {
  const back = document.querySelector<HTMLButtonElement>("[data-restore]");
  back?.addEventListener("click", () => {
    const { restore: task = "", version = "0", newest = "0" } = back.dataset;
    if (!confirm(manage.questionBack(Number(version), Number(newest) - Number(version)))) return;
    void showRefusal(requireElement(document, "problem"), async () => {
      const asked = { version: Number(version) };
      const made = (await requestJson("POST", `/api/tasks/${task}/restore`, asked)) as { version: number };
      location.assign(`/tasks/${task}/versions/${made.version}`);
    });
  });
  enableButtons();
}
