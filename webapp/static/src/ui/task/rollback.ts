/** The button on the page of a version with which its owner goes back to it. */

import { say } from "../../i18n";
import { ask, trying } from "../lib/api";
import { part, wake } from "../lib/dom";

/** Binds the button, where the page has it. */
export function bindRollback(): void {
  const back = document.querySelector<HTMLButtonElement>("[data-restore]");
  back?.addEventListener("click", () => {
    const { restore: task = "", version = "0", newest = "0" } = back.dataset;
    if (!confirm(say.manage.questionBack(Number(version), Number(newest) - Number(version)))) return;
    void trying(part(document, "problem"), async () => {
      const asked = { version: Number(version) };
      const made = (await ask("POST", `/api/tasks/${task}/restore`, asked)) as { version: number };
      location.assign(`/tasks/${task}/versions/${made.version}`);
    });
  });
  wake();
}
