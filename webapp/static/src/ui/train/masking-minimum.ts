/** The volunteer's own minimum of clients among which an update is masked. Stored for all tasks of this site. */

import { requireElement, setText } from "../lib/dom";
import { openAround } from "../lib/sections";
import { type MaskingOffer, minimumNote } from "./masked-status";
import { storeChoice, storedChoice } from "./stored-choice";

const KEY = "minga-min-masked";
const MOST = 2048;

/**
 * Sets the stored minimum, and returns a function that reads the current one; 0 is none. In a task that always masks it
 * is at least what the page says, so that the server cannot drop the masks later.
 */
export function minimumChoice(root: HTMLElement): () => number {
  const input = requireElement<HTMLInputElement>(root, "minimum");
  const note = requireElement(root, "minimum-note");
  const offered: MaskingOffer = { masks: input.dataset.masks === "true", least: Number(input.dataset.least) };
  const show = (): void => {
    const { text, bars } = minimumNote(parse(input.value), offered);
    setText(note, text);
    note.className = bars ? "notice" : "note";
    if (bars) openAround(note);
  };
  input.value = storedChoice(KEY);
  input.addEventListener("input", () => {
    storeChoice(KEY, input.value);
    show();
  });
  show();
  const promised = input.dataset.always === "true" ? offered.least : 0;
  return () => parse(input.value) || promised;
}

function parse(text: string): number {
  const asked = Math.floor(Number(text));
  // Masking needs at least three clients: the sum of two reveals each one's update to the other.
  return asked >= 1 ? Math.min(Math.max(asked, 3), MOST) : 0;
}
