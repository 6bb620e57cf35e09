/** The volunteer's own condition: among how many an update must be masked. Remembered for all tasks of this site. */

import { requireElement, setText } from "../lib/dom";
import { type MaskingOffer, minimumNote } from "./masked-status";

const KEY = "minga-min-masked";
const MOST = 2048;

/** Takes over what was remembered, and returns a function that reads the present condition; 0 is none. */
export function minimumChoice(root: HTMLElement): () => number {
  const input = requireElement<HTMLInputElement>(root, "minimum");
  const note = requireElement(root, "minimum-note");
  const offered: MaskingOffer = { masks: input.dataset.masks === "true", least: Number(input.dataset.least) };
  const show = (): void => {
    const { text, bars } = minimumNote(parse(input.value), offered);
    setText(note, text);
    note.className = bars ? "notice" : "note";
  };
  input.value = remembered();
  input.addEventListener("input", () => {
    remember(input.value);
    show();
  });
  show();
  return () => parse(input.value);
}

function parse(text: string): number {
  const asked = Math.floor(Number(text));
  // Fewer than three cannot be masked: the sum of two shows each to the other.
  return asked >= 1 ? Math.min(Math.max(asked, 3), MOST) : 0;
}

function remembered(): string {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** A browser that keeps nothing asks again next time. */
function remember(text: string): void {
  try {
    localStorage.setItem(KEY, text);
  } catch {
    // The condition holds for this visit.
  }
}
