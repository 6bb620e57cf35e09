/** The choice of a robust rule, or of masked groups, among those that the server lists for a round's participants. */

import { say } from "../../../i18n/texts/owners/privacy";
import { requireElement, setText } from "../../lib/dom";
import { node } from "../nodes";
import type { RobustChoices, RobustOption } from "./privacy-preview";

/** Owns the alternatives and the field of expected participants; `asked` is called when this number changes. */
export class RobustChoice {
  readonly #part: HTMLElement;
  readonly #field: HTMLInputElement;

  constructor(root: HTMLElement, asked: () => void) {
    this.#part = requireElement(root, "robust");
    this.#field = requireElement<HTMLInputElement>(this.#part, "clients");
    this.#field.addEventListener("input", asked);
  }

  /** The number that the owner expects in a round; null: the server's assumption. */
  get clients(): number | null {
    return this.#field.validity.valid && this.#field.value !== "" ? Number(this.#field.value) : null;
  }

  /** Shows the alternatives; those with the same keys stay, because a person may be about to choose one. */
  show(choices: RobustChoices | null): void {
    this.#part.hidden = choices === null;
    if (choices === null) return;
    this.#field.placeholder = `${choices.clients}`;
    setText(requireElement(this.#part, "robust-reason"), choices.reason ?? "");
    const list = requireElement(this.#part, "robust-options");
    const keys = choices.options.map(optionKey);
    if ([...list.children].map(dataOption).join() !== keys.join())
      list.replaceChildren(...keys.map(alternative));
    for (const place of list.querySelectorAll<HTMLElement>("[data-option]")) {
      const one = choices.options.find((option) => optionKey(option) === place.dataset.option);
      if (one === undefined) continue;
      const title = one.key === choices.proposed ? say.proposed(one.title) : one.title;
      setText(requireElement(place, "title"), title);
      setText(requireElement(place, "text"), one.text);
    }
  }
}

function dataOption(place: Element): string | undefined {
  return place instanceof HTMLElement ? place.dataset.option : undefined;
}

function optionKey({ part, key }: RobustOption): string {
  return `${part} ${key}`;
}

function alternative(key: string): HTMLElement {
  const input = node("input");
  input.type = "radio";
  input.name = "robust";
  const words = node("span", "", "", marked("strong", "title"), marked("small", "text"));
  const made = node(
    "div",
    "",
    "alternative",
    node("label", "", "", input, words),
    marked("p", "changes"),
    marked("p", "refused"),
  );
  made.dataset.option = key;
  return made;
}

function marked(tag: "strong" | "small" | "p", name: string): HTMLElement {
  const made = node(tag, "", tag === "p" ? (name === "refused" ? "note refused" : "note") : "");
  made.dataset[name] = "";
  return made;
}
