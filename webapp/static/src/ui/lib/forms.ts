/** What the forms of owners' pages have in common. */

import { say } from "../../i18n";
import { requestJson, showRefusal } from "./api";
import { requireElement } from "./dom";
import { toast } from "./toast";

/** Has `work` done with what was filled in, and says under `told` what went wrong. */
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

/** Buttons that end something: its address stands in `data-delete`. What is left shows after a reload. */
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

/** Shows a secret once, selected, to be copied from there. */
export function showOnce(place: string, field: string, secret: string): void {
  const input = requireElement<HTMLInputElement>(document, field);
  input.value = secret;
  requireElement(document, place).hidden = false;
  input.select();
}

/** Copies what stands in `field`; says so, or what to do where the browser does not let the page copy. */
export async function copy(field: HTMLInputElement): Promise<void> {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    toast(say.account.copied);
  } catch {
    toast(say.account.noCopy);
  }
}

/** A number that was filled in; null where nothing was. */
export function numberOf(data: FormData, name: string): number | null {
  const text = data.get(name);
  return typeof text === "string" && text !== "" ? Number(text) : null;
}
