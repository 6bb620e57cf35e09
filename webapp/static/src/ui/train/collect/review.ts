/** The collected examples on the page, each with its class and a button that deletes it. */

import type { OwnFile } from "../../../core/messages/data-reader";
import type { AudioRule } from "../../../core/preprocessing/declaration";
import { collect } from "../../../i18n/texts/volunteers/data/collect";
import { setChildren } from "../../lib/dom";
import { classOf, isCollected } from "./example-files";
import { soundNodes } from "./sound-item";

const SHOWN_CHARACTERS = 80;

/** Owns the list's elements, and the addresses of its pictures. */
export class ReviewGrid {
  readonly #items = new Map<File, HTMLLIElement>();

  constructor(
    private readonly list: HTMLElement,
    private readonly remove: (path: string) => void,
    /** Of tasks that read recordings. */
    private readonly sounds: AudioRule | null = null,
  ) {}

  /** Shows the collected ones of `files`, the newest first. */
  show(files: readonly OwnFile[]): void {
    const collected = files.filter(isCollected);
    const kept = new Set(collected.map(({ file }) => file));
    for (const [file, item] of this.#items) {
      if (kept.has(file)) continue;
      for (const image of item.querySelectorAll("img")) URL.revokeObjectURL(image.src);
      this.#items.delete(file);
    }
    const items = collected.map((one) => {
      const item = this.#items.get(one.file) ?? this.#item(one);
      this.#items.set(one.file, item);
      return item;
    });
    setChildren(this.list, items.reverse());
  }

  #item(one: OwnFile): HTMLLIElement {
    const item = document.createElement("li");
    const name = classOf(one) ?? "";
    if (this.sounds === null) item.append(contentOf(one, name));
    else item.append(...soundNodes(one.file, one.path, name, this.sounds));
    if (name !== "") {
      const caption = document.createElement("span");
      caption.textContent = name;
      item.append(caption);
    }
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button quiet";
    button.textContent = collect.remove;
    button.setAttribute("aria-label", collect.removeThis(one.path));
    button.addEventListener("click", () => this.remove(one.path));
    item.append(button);
    return item;
  }
}

function contentOf({ file }: OwnFile, name: string): HTMLElement {
  if (file.type.startsWith("image/")) {
    const image = document.createElement("img");
    image.src = URL.createObjectURL(file);
    image.alt = name;
    return image;
  }
  const quote = document.createElement("q");
  void file.text().then((text) => {
    quote.textContent = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  });
  return quote;
}
