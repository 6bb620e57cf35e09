/** What every controller does with its template. */

/** The element marked `data-<name>` in `root`; a template without it is a mistake of ours. */
export function part<E extends HTMLElement = HTMLElement>(root: ParentNode, name: string): E {
  const found = root.querySelector<E>(`[data-${name}]`);
  if (!found) throw new Error(`The page has no element with data-${name}.`);
  return found;
}

/** Sets the text only when it differs, so that screen readers are not told the same again. */
export function write(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Has exactly `children`, in their order; where it has, nothing moves and the focus stays. */
export function arrange(parent: Element, children: readonly Element[]): void {
  const same =
    parent.children.length === children.length &&
    children.every((child, index) => parent.children[index] === child);
  if (!same) parent.replaceChildren(...children);
}

/** Lets the buttons that waited for the page's script take clicks: `data-unbound`, disabled by the template. */
export function wake(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-unbound]")) {
    button.disabled = false;
    button.removeAttribute("data-unbound");
  }
}
