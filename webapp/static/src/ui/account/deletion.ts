/** Deletes accounts: one's own, after its name was typed, and for operators those of others. */

import { say } from "../../i18n";
import { requestJson, showRefusal } from "../lib/api";
import { onSubmit } from "../lib/forms";

export function bindAccountDeletion(problem: HTMLElement): void {
  const form = document.querySelector<HTMLFormElement>("[data-leave-form]");
  if (form) {
    onSubmit(form, problem, async (data) => {
      await requestJson("DELETE", "/api/account", { name: data.get("name") });
      location.assign("/");
    });
  }
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-remove-account]")) {
    const { removeAccount: id = "", name = "" } = button.dataset;
    button.addEventListener("click", () => {
      if (!confirm(say.account.questionRemove(name))) return;
      void showRefusal(problem, async () => {
        await requestJson("DELETE", `/api/accounts/${id}`, { name });
        location.reload();
      });
    });
  }
}
