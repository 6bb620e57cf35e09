/** The field of a task's name: shows at once why a name cannot be used, and takes a free one. */

import { say } from "../../i18n/texts/owners/names";
import { requireElement, setText } from "../lib/dom";
import type { NameCheck } from "./record";

export interface NameField {
  /** Shows what is wrong with the name in the field, if anything. */
  show(check: NameCheck): void;
}

/** Binds the field within `root`; `changed` is called with each valid name, typed or taken. */
export function bindNameField(
  root: HTMLElement,
  field: HTMLInputElement,
  changed: (name: string) => void,
): NameField {
  const problem = requireElement(root, "name-problem");
  const free = requireElement(root, "name-free");
  const take = requireElement(free, "name-take");
  let suggestion = "";
  const show = (check: NameCheck) => {
    suggestion = check.suggestion ?? "";
    setText(problem, check.problem ?? "");
    field.ariaInvalid = `${check.problem !== null}`;
    free.hidden = suggestion === "";
    setText(take, suggestion === "" ? "" : say.take(suggestion));
  };
  field.addEventListener("input", () => {
    if (field.validity.valid) changed(field.value);
    else show({ problem: say.form, suggestion: null });
  });
  take.addEventListener("click", () => {
    field.value = suggestion;
    field.focus();
    show({ problem: null, suggestion: null });
    changed(field.value);
  });
  return { show };
}
