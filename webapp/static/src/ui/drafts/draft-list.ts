/** The list of a person's drafts: begins one, and deletes one after a question. */

import { say } from "../../i18n/owners/frame";
import { ask, trying } from "../lib/api";
import { part, wake } from "../lib/dom";
import { onSubmit } from "../lib/forms";
import { bindOtherwise } from "./import";
import { nameOf } from "./task-name";

/** Binds the page with the list. */
export function bindDraftList(): void {
  const told = part(document, "problem");
  const form = part<HTMLFormElement>(document, "begin-form");
  const title = part<HTMLInputElement>(form, "begin-title");
  const name = part<HTMLInputElement>(form, "begin-name");
  let chosen = false;

  name.addEventListener("input", () => {
    chosen = name.value !== "";
  });
  title.addEventListener("input", () => {
    if (!chosen) name.value = nameOf(title.value);
  });

  onSubmit(form, told, async (data) => {
    const asked = { name: data.get("name"), title: data.get("title"), onward: true };
    const { id } = (await ask("POST", "/api/drafts", asked)) as { id: string };
    location.assign(`/drafts/${id}`);
  });

  bindOtherwise(told);

  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-forget]")) {
    button.addEventListener("click", () => {
      if (!confirm(say.forget(button.dataset.title ?? ""))) return;
      void trying(told, async () => {
        await ask("DELETE", button.dataset.forget ?? "");
        location.reload();
      });
    });
  }
  wake();
}
