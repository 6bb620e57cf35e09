/** Small elements of the wizard's pages. */

/** Creates an element with a text and children. */
export function node<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  text = "",
  className = "",
  ...children: readonly Node[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (text !== "") made.textContent = text;
  if (className !== "") made.className = className;
  made.append(...children);
  return made;
}

/** Fills the list with these sentences; an equal list is not changed. */
export function sentences(list: Element, texts: readonly string[]): void {
  const shown = [...list.children].map(({ textContent }) => textContent);
  if (shown.length === texts.length && texts.every((text, index) => text === shown[index])) return;
  list.replaceChildren(...texts.map((text) => node("li", text)));
}

/** Creates a row of a table; the first cell is its header. */
export function tableRow(...texts: readonly string[]): HTMLTableRowElement {
  const cells = texts.map((text, index) => node(index === 0 ? "th" : "td", text));
  if (cells[0]) (cells[0] as HTMLTableCellElement).scope = "row";
  return node("tr", "", "", ...cells);
}
