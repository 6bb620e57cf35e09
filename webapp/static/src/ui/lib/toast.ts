/** A short notice: at the foot of the page for some seconds, and read by screen readers. */

import { requireElement, setText } from "./dom";

/** Long enough to be read twice, in milliseconds. */
const SHOWN = 6000;

let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows `text`; the next toast replaces it. */
export function toast(text: string): void {
  const place = requireElement(document, "toast");
  setText(place, text);
  clearTimeout(timer);
  timer = setTimeout(() => setText(place, ""), SHOWN);
}
