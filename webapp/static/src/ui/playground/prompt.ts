/** A text for the model to continue. */

import type { Prompt } from "../../core/messages/playground";
import { requireElement } from "../lib/dom";

export interface PromptWriter {
  /** Resolves when the text is complete or was stopped. */
  readonly write: (prompt: Prompt) => Promise<void>;
  readonly stop: () => void;
}

/** Writes when the form is submitted, until the button is pressed. */
export function bindPrompt(widget: HTMLElement, { write, stop }: PromptWriter): void {
  const [go, halt] = [
    requireElement<HTMLButtonElement>(widget, "go"),
    requireElement<HTMLButtonElement>(widget, "halt"),
  ];
  const input = (name: string) => requireElement<HTMLInputElement>(widget, name).valueAsNumber;
  requireElement<HTMLFormElement>(widget, "board").addEventListener("submit", async (event) => {
    event.preventDefault();
    // The pressed button has the keyboard's focus, so it is not hidden.
    go.disabled = true;
    halt.hidden = false;
    await write({
      text: requireElement<HTMLTextAreaElement>(widget, "text").value,
      temperature: input("temperature"),
      tokens: input("tokens"),
    });
    go.disabled = false;
    halt.hidden = true;
  });
  halt.addEventListener("click", stop);
}
