/** The timeline of rounds: times as the reader's clock has them, and a word for screen readers when a round ends. */

import { requireElement, setText } from "../lib/dom";

const FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Shows the timeline as it is now; the function returned does so again after it changed. */
export function showTimeline(): () => void {
  let latest = newest();
  localize();
  return () => {
    localize();
    const now = newest();
    if (now && now.dataset.round !== latest?.dataset.round) {
      setText(requireElement(document, "told"), requireElement(now, "ending").textContent.trim());
    }
    latest = now;
  };
}

/** The list is replaced as a whole when it changes, so its first entry is always the one that is shown. */
function newest(): HTMLElement | null {
  return document.querySelector<HTMLElement>("[data-round]");
}

function localize(): void {
  for (const time of document.querySelectorAll<HTMLTimeElement>("time[datetime]")) {
    setText(time, FORMAT.format(new Date(time.dateTime)));
  }
}
