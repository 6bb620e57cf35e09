/** The least noise that a volunteer's device has to add itself, as a multiple of the clip. Stored for all tasks. */

import { say } from "../../i18n";
import { requireElement, setText } from "../lib/dom";
import { openAround } from "../lib/sections";
import { storeChoice, storedChoice } from "./stored-choice";

const KEY = "minga-min-noise";
const words = say.masked.noise;

/** Sets the stored minimum, and returns a function that reads the current one; 0 is none. */
export function noiseChoice(root: HTMLElement): () => number {
  const input = requireElement<HTMLInputElement>(root, "noise");
  const note = requireElement(root, "noise-note");
  const offered = Number(input.dataset.offered);
  // Rounded down, so that a volunteer may ask for what the note says.
  const shown = Math.floor(offered * 1000) / 1000;
  const show = (): void => {
    const bars = parse(input.value) > offered;
    setText(note, `${offered > 0 ? words.offered(shown) : words.none} ${bars ? words.bars : ""}`.trim());
    note.className = bars ? "notice" : "note";
    if (bars) openAround(note);
  };
  input.value = storedChoice(KEY);
  input.addEventListener("input", () => {
    storeChoice(KEY, input.value);
    show();
  });
  show();
  return () => parse(input.value);
}

function parse(text: string): number {
  const asked = Number(text);
  return asked > 0 && asked < Number.POSITIVE_INFINITY ? asked : 0;
}
