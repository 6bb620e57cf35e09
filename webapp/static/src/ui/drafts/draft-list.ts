/** The list of a person's drafts: creates a draft, and deletes one after confirmation. */

import { say } from "../../i18n/texts/owners/frame";
import { requestJson, showRefusal } from "../lib/api";
import { enableButtons, requireElement } from "../lib/dom";
import { onSubmit } from "../lib/forms";
import { bindImports } from "./import";
import { bindNameField } from "./name-field";
import type { NameCheck } from "./record";
import { nameOf } from "./task-name";

const CHECK_MS = 300;

/** Binds the page with the list. */
export function bindDraftList(): void {
  const problem = requireElement(document, "problem");
  const form = requireElement<HTMLFormElement>(document, "begin-form");
  const title = requireElement<HTMLInputElement>(form, "begin-title");
  const name = requireElement<HTMLInputElement>(form, "begin-name");
  let chosen = false;
  let timer = 0;

  const check = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void showRefusal(problem, showCheck), CHECK_MS);
  };
  const field = bindNameField(form, name, check);
  name.addEventListener("input", () => {
    chosen = name.value !== "";
  });
  const derive = () => {
    if (chosen) return;
    name.value = nameOf(title.value);
    if (name.value !== "") check();
  };
  title.addEventListener("input", derive);
  // The title may have been typed, or restored by the browser, before this script ran.
  if (name.value === "") derive();

  /** Says at the field whether the name is free; returns whether it is. */
  async function showCheck(): Promise<boolean> {
    const asked = name.value;
    const address = `/api/drafts?name=${encodeURIComponent(asked)}`;
    const answer = (await requestJson("GET", address)) as { name: NameCheck };
    if (asked === name.value) field.show(answer.name);
    return answer.name.problem === null;
  }

  onSubmit(form, problem, async (data) => {
    clearTimeout(timer);
    if (!(await showCheck())) {
      name.focus();
      return;
    }
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
