/** A row, a text or numbers from a form, as a question. */

import type { PlaygroundQuestion } from "../../core/messages/playground";
import { say } from "../../i18n";
import { requireElement } from "../lib/dom";
import type { QuestionForm } from "./question";
import { numbersIn } from "./texts";

export type FormKind = "row" | "text" | "numbers";

/** Asks when the form is submitted. */
export function bindForm(widget: HTMLElement, kind: FormKind, { ask, complain }: QuestionForm): void {
  requireElement<HTMLFormElement>(widget, "board").addEventListener("submit", (event) => {
    event.preventDefault();
    try {
      ask(questionOf(widget, kind));
    } catch (problem) {
      complain(say.problem(problem));
    }
  });
}

function questionOf(widget: HTMLElement, kind: FormKind): PlaygroundQuestion {
  if (kind === "row") {
    const cells = widget.querySelectorAll<HTMLInputElement | HTMLSelectElement>("[data-cell]");
    return { kind, cells: [...cells].map(({ value }) => value.trim()) };
  }
  const text = requireElement<HTMLTextAreaElement>(widget, "text").value;
  return kind === "text" ? { kind, text } : { kind: "values", values: numbersIn(text) };
}
