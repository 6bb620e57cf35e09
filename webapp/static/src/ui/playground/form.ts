/** A row, a text or numbers from a form, as a question. */

import type { Question } from "../../core/messages/playground";
import { part } from "../lib/dom";
import type { Questions } from "./question";
import { numbersIn } from "./texts";

export type FormKind = "row" | "text" | "numbers";

/** Asks when the form is sent. */
export function bindForm(widget: HTMLElement, kind: FormKind, { ask, complain }: Questions): void {
  part<HTMLFormElement>(widget, "board").addEventListener("submit", (event) => {
    event.preventDefault();
    try {
      ask(questionOf(widget, kind));
    } catch (problem) {
      complain(problem instanceof Error ? problem.message : String(problem));
    }
  });
}

function questionOf(widget: HTMLElement, kind: FormKind): Question {
  if (kind === "row") {
    const cells = widget.querySelectorAll<HTMLInputElement | HTMLSelectElement>("[data-cell]");
    return { kind, cells: [...cells].map(({ value }) => value.trim()) };
  }
  const text = part<HTMLTextAreaElement>(widget, "text").value;
  return kind === "text" ? { kind, text } : { kind: "values", values: numbersIn(text) };
}
