/** Sections that fold: `<details data-section>`, open without a script and on wide screens, folded on narrow ones. */

/** As in the stylesheet: there the pages are as long as a phone is narrow. */
const NARROW = "(max-width: 40rem)";

/** Folds the sections of a narrow screen, and opens those in which there is something to see. */
export function bindSections(): void {
  const sections = [...document.querySelectorAll<HTMLDetailsElement>("details[data-section]")];
  const screen = matchMedia(NARROW);
  if (screen.matches) for (const section of sections) section.open = hasProblem(section);
  screen.addEventListener("change", ({ matches }) => {
    if (!matches) for (const section of sections) section.open = true;
  });
  // `invalid` does not bubble, so it is captured; the browser then shows its message at the field.
  document.addEventListener("invalid", ({ target }) => openAround(target), true);
  const observer = new MutationObserver((records) => {
    for (const { target } of records) {
      const element = target instanceof Element ? target : target.parentElement;
      const problem = element?.closest("[role=alert]");
      if (problem?.textContent) openAround(problem);
    }
  });
  for (const section of sections) {
    observer.observe(section, { subtree: true, childList: true, characterData: true });
  }
  addEventListener("hashchange", openTarget);
  openTarget();
}

/** Opens what is open in `old` in its replacement, too; menus of files by version, other folds by their order. */
export function keepOpen(old: ParentNode, fresh: ParentNode): void {
  const before = new Map(
    [...old.querySelectorAll("details")].map((fold, index) => [nameOf(fold, index), fold]),
  );
  for (const [index, fold] of [...fresh.querySelectorAll("details")].entries()) {
    const previous = before.get(nameOf(fold, index));
    if (previous) fold.open = previous.open;
  }
}

/** A version's menu of files stays that of its version when a new row appears above it. */
function nameOf(fold: HTMLDetailsElement, index: number): string {
  return fold.dataset.files ?? `#${index}`;
}

function hasProblem(section: HTMLElement): boolean {
  return [...section.querySelectorAll("[role=alert]")].some(({ textContent }) => textContent?.trim() !== "");
}

/** Opens the section to which the address points behind its #. */
function openTarget(): void {
  const target = document.getElementById(location.hash.slice(1));
  if (target === null) return;
  const folds = openAround(target) + openInside(target);
  if (folds > 0) target.scrollIntoView();
}

/** The section of an address may be the card around the fold. */
function openInside(target: HTMLElement): number {
  const section = target.querySelector<HTMLDetailsElement>(":scope > details[data-section]:not([open])");
  if (section) section.open = true;
  return section ? 1 : 0;
}

/** Opens all folds around an element; returns how many were folded. */
export function openAround(target: EventTarget | null): number {
  let opened = 0;
  let fold = target instanceof Element ? target.closest("details") : null;
  while (fold) {
    if (!fold.open) opened += 1;
    fold.open = true;
    fold = fold.parentElement?.closest("details") ?? null;
  }
  return opened;
}
