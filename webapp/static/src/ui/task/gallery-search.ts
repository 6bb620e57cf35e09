/** The gallery's search: hides other cards during typing. Without scripts the server hides them. */

import { say } from "../../i18n";
import { requireElement, setText } from "../lib/dom";

/** The words and the topic of a search; empty ones match everything. */
export interface Search {
  readonly words: string;
  readonly topic: string;
}

/** The searchable content of a card: its words in lower case, and its topics. */
export interface Findable {
  readonly words: string;
  readonly topics: readonly string[];
}

/** Whether all words and the topic match, as in `Search.matches` of backend/server/tasks/gallery.py. */
export function matches({ words, topic }: Search, card: Findable): boolean {
  const each = words.toLowerCase().split(/\s+/);
  return each.every((word) => card.words.includes(word)) && (topic === "" || card.topics.includes(topic));
}

/** Returns the address of the gallery with this search. */
export function addressOf({ words, topic }: Search): string {
  const asked = Object.entries({ q: words.trim(), topic }).filter(([, text]) => text !== "");
  return asked.length > 0 ? `/?${new URLSearchParams(asked)}` : "/";
}

/** Binds the form; its buttons are topics. */
export function bindSearch(form: HTMLFormElement): void {
  const field = requireElement<HTMLInputElement>(form, "find-words");
  const buttons = [...form.querySelectorAll<HTMLButtonElement>("button[aria-pressed]")];
  const cards = [...document.querySelectorAll<HTMLElement>("[data-card]")];
  let topic = buttons.find((button) => button.ariaPressed === "true")?.value ?? "";

  function show(): void {
    const search = { words: field.value, topic };
    for (const card of cards) card.hidden = !matches(search, findable(card));
    for (const button of buttons) button.ariaPressed = String(button.value === topic);
    const matching = cards.filter((card) => !card.hidden).length;
    setText(requireElement(form, "found"), say.gallery.found(matching, cards.length));
    requireElement(document, "none-found").hidden = matching > 0;
    history.replaceState(null, "", addressOf(search));
  }

  field.addEventListener("input", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.submitter instanceof HTMLButtonElement && event.submitter.ariaPressed !== null)
      topic = event.submitter.value;
    show();
  });
}

function findable({ dataset }: HTMLElement): Findable {
  return { words: dataset.words ?? "", topics: JSON.parse(dataset.topics ?? "[]") as string[] };
}
