/** The list of a person's drafts: creates a draft, and deletes one after confirmation. */

import { say } from "../../i18n/texts/owners/frame";
import { requestJson, showRefusal } from "../lib/api";
import { enableButtons, requireElement } from "../lib/dom";
import { onSubmit } from "../lib/forms";
import { bindImports } from "./import";
import { nameOf } from "./task-name";

/** Binds the page with the list. */
export function bindDraftList(): void {
  const problem = requireElement(document, "problem");
  const form = requireElement<HTMLFormElement>(document, "begin-form");
  const title = requireElement<HTMLInputElement>(form, "begin-title");
  const name = requireElement<HTMLInputElement>(form, "begin-name");
  let chosen = false;

  name.addEventListener("input", () => {
    chosen = name.value !== "";
  });
  title.addEventListener("input", () => {
    if (!chosen) name.value = nameOf(title.value);
  });

  onSubmit(form, problem, async (data) => {
    const asked = { name: data.get("name"), title: data.get("title"), onward: true };
    const { id } = (await requestJson("POST", "/api/drafts", asked)) as { id: string };
    location.assign(`/drafts/${id}`);
  });

  bindImports(problem);

  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-forget]")) {
    button.addEventListener("click", () => {
      if (!confirm(say.forget(button.dataset.title ?? ""))) return;
      void showRefusal(problem, async () => {
        await requestJson("DELETE", button.dataset.forget ?? "");
        location.reload();
      });
    });
  }
  enableButtons();
}
