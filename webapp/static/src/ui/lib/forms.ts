/** Helpers for the forms of owners' pages. */

import { say } from "../../i18n";
import { requestJson, showRefusal } from "./api";
import { requireElement } from "./dom";
import { toast } from "./toast";

/** Calls `work` with the form's data, and shows a refusal in `problem`. */
export function onSubmit(
  form: HTMLFormElement,
  problem: HTMLElement,
  work: (data: FormData) => Promise<void>,
): void {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void showRefusal(problem, () => work(new FormData(form)));
  });
}

/** Binds the buttons that delete something: its address is in `data-delete`. The page reloads afterwards. */
export function bindDeletes(problem: HTMLElement): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-delete]")) {
    button.addEventListener("click", () => {
      void showRefusal(problem, async () => {
        await requestJson("DELETE", button.dataset.delete ?? "");
        location.reload();
      });
    });
  }
}

/** Shows a secret once, selected for copying. */
export function showOnce(place: string, field: string, secret: string): void {
  const input = requireElement<HTMLInputElement>(document, field);
  input.value = secret;
  requireElement(document, place).hidden = false;
  input.select();
}

/** Copies the field's text; shows a confirmation, or what to do if the browser does not allow it. */
export async function copy(field: HTMLInputElement): Promise<void> {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    toast(say.account.copied);
  } catch {
    toast(say.account.noCopy);
  }
}

/** Returns a number that was filled in; null if the field is empty. */
export function numberOf(data: FormData, name: string): number | null {
  const text = data.get(name);
  return typeof text === "string" && text !== "" ? Number(text) : null;
}
