/** What every controller does with its template. */

/** The element marked `data-<name>` in `root`; a template without it is a mistake of ours. */
export function requireElement<E extends HTMLElement = HTMLElement>(root: ParentNode, name: string): E {
  const element = root.querySelector<E>(`[data-${name}]`);
  if (!element) throw new Error(`The page has no element with data-${name}.`);
  return element;
}

/** Sets the text only when it differs, so that screen readers are not told the same again. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Has exactly `children`, in their order; where it has, nothing moves and the focus stays. */
export function setChildren(parent: Element, children: readonly Element[]): void {
  const same =
    parent.children.length === children.length &&
    children.every((child, index) => parent.children[index] === child);
  if (!same) parent.replaceChildren(...children);
}

/** Lets the buttons that waited for the page's script take clicks: `data-unbound`, disabled by the template. */
export function enableButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-unbound]")) {
    button.disabled = false;
    button.removeAttribute("data-unbound");
  }
}
