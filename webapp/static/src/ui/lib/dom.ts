/** Helpers by which controllers access their templates. */

/** Returns the element marked `data-<name>` in `root`; throws if the template has none. */
export function requireElement<E extends HTMLElement = HTMLElement>(root: ParentNode, name: string): E {
  const element = root.querySelector<E>(`[data-${name}]`);
  if (!element) throw new Error(`The page has no element with data-${name}.`);
  return element;
}

/** Sets the text only if it differs, so that screen readers do not repeat it. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets exactly `children`, in their order; if they are unchanged nothing moves, and the focus stays. */
export function setChildren(parent: Element, children: readonly Element[]): void {
  const same =
    parent.children.length === children.length &&
    children.every((child, index) => parent.children[index] === child);
  if (!same) parent.replaceChildren(...children);
}

/** Enables the buttons that waited for the page's script: `data-unbound`, disabled by the template. */
export function enableButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-unbound]")) {
    button.disabled = false;
    button.removeAttribute("data-unbound");
  }
}
