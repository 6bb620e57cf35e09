/** The wizard's step `about`: the name, and what the task says of itself. */

import { requireElement } from "../../lib/dom";
import { bindDescription } from "../description";
import type { DraftFrame } from "../frame";
import { bindNameField } from "../name-field";
import { bindPicture } from "../picture";

export function mount(frame: DraftFrame): void {
  bindDescription(frame);
  bindPicture(requireElement(document, "picture"));
  bindName(requireElement<HTMLFormElement>(document, "about"), frame);
}

/** The name can be changed until the launch; a name that is taken is reported at the field. */
function bindName(form: HTMLFormElement, frame: DraftFrame): void {
  const input = requireElement<HTMLInputElement>(form, "task-name");
  const field = bindNameField(form, input, (name) => void frame.save({ task: { name } }));
  const show = () => {
    const { name, task } = frame.draft();
    if (document.activeElement !== input) input.value = typeof task.name === "string" ? task.name : "";
    if (input.value === task.name) field.show(name);
  };
  frame.onChange(show);
  show();
}
