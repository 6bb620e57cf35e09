/** The timeline of rounds: shows local times, and tells screen readers when a round ends. */

import { language } from "../../i18n/language";
import { requireElement, setText } from "../lib/dom";

const FORMAT = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });

/** Shows the timeline; returns a function that updates it after a change. */
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

/** Returns the first entry, which is the visible one: the list is replaced as a whole. */
function newest(): HTMLElement | null {
  return document.querySelector<HTMLElement>("[data-round]");
}

function localize(): void {
  for (const time of document.querySelectorAll<HTMLTimeElement>("time[datetime]")) {
    setText(time, FORMAT.format(new Date(time.dateTime)));
  }
}
