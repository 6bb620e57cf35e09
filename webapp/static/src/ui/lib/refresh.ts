/** Keeps the figures of a server-rendered page fresh: the page is fetched again and its `data-live` parts replaced. */

import { answered } from "./responses";

type Changed = (names: readonly string[]) => void;

/** Refreshes every `seconds` while the page is visible. Returns a function that refreshes at once. */
export function keepFresh(seconds: number, changed: Changed = () => undefined): () => Promise<void> {
  // Compared with what the server sent last, because scripts may change the parts since.
  const known = new Map(liveParts(document).map((part) => [name(part), part.outerHTML]));

  async function refresh(): Promise<void> {
    // A server that is away, or goes while it answers, leaves the figures as they were; the next refresh tries again.
    const page = await answered(location.href, "text/html", (response) => response.text());
    if (page === null) return;
    const fresh = new DOMParser().parseFromString(page, "text/html");
    const olds = new Map(liveParts(document).map((part) => [name(part), part]));
    // What somebody is in with the keyboard stays until they leave: replacing it would throw them out.
    const busy = (part: HTMLElement) => olds.get(name(part))?.contains(document.activeElement) ?? false;
    const news = liveParts(fresh).filter((part) => known.get(name(part)) !== part.outerHTML && !busy(part));
    for (const part of news) {
      known.set(name(part), part.outerHTML);
      olds.get(name(part))?.replaceWith(document.adoptNode(part));
    }
    if (news.length > 0) changed(news.map(name));
  }

  setInterval(() => {
    if (document.visibilityState === "visible") void refresh();
  }, seconds * 1000);
  return refresh;
}

function liveParts(root: ParentNode): HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>("[data-live]")];
}

function name(part: HTMLElement): string {
  return part.dataset.live ?? "";
}
