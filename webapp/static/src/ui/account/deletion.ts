/** Accounts that go: one's own, once its name was typed, and for operators those of others. */

import { say } from "../../i18n";
import { ask, trying } from "../lib/api";
import { onSubmit } from "../lib/forms";

export function bindLeaving(told: HTMLElement): void {
  const form = document.querySelector<HTMLFormElement>("[data-leave-form]");
  if (form) {
    onSubmit(form, told, async (data) => {
      await ask("DELETE", "/api/account", { name: data.get("name") });
      location.assign("/");
    });
  }
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-remove-account]")) {
    const { removeAccount: id = "", name = "" } = button.dataset;
    button.addEventListener("click", () => {
      if (!confirm(say.account.questionRemove(name))) return;
      void trying(told, async () => {
        await ask("DELETE", `/api/accounts/${id}`, { name });
        location.reload();
      });
    });
  }
}
