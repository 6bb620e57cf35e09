/** The gallery's search: cards that do not fit are hidden while somebody types. Without scripts the server hides them. */

import { say } from "../../i18n";
import { requireElement, setText } from "../lib/dom";

/** What somebody looks for; empty ones ask for nothing. */
export interface Search {
  readonly words: string;
  readonly topic: string;
}

/** What a card is found by: its words in lower case, and its topics. */
export interface Findable {
  readonly words: string;
  readonly topics: readonly string[];
}

/** Whether all words and the topic are found, as `Search.finds` of backend/server/tasks/gallery.py says. */
export function matches({ words, topic }: Search, card: Findable): boolean {
  const each = words.toLowerCase().split(/\s+/);
  return each.every((word) => card.words.includes(word)) && (topic === "" || card.topics.includes(topic));
}

/** The address of the gallery as it shows what is found. */
export function addressOf({ words, topic }: Search): string {
  const asked = Object.entries({ q: words.trim(), topic }).filter(([, text]) => text !== "");
  return asked.length > 0 ? `/?${new URLSearchParams(asked)}` : "/";
}

/** Takes over the form; its buttons are topics. */
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
