/** Refreshes the figures of a server-rendered page: fetches its `data-live` parts and replaces those that changed. */

import { parseHtml } from "./parse-html";
import { fetchAnswer } from "./responses";
import { keepOpen } from "./sections";

type RefreshListener = (names: readonly string[]) => void;

/** Refreshes every `seconds` while the page is visible. Returns a function that refreshes immediately. */
export function startRefreshing(
  seconds: number,
  changed: RefreshListener = () => undefined,
): () => Promise<void> {
  const address = liveAddress(location.href);
  // Parts are compared with the server's last ones, because scripts may have changed them since.
  const latest = new Map(liveParts(document).map((part) => [liveName(part), part.outerHTML]));

  async function refresh(): Promise<void> {
    // If the server is away or the answer breaks off, the figures stay; the next refresh tries again.
    const parts = await fetchAnswer(address, "text/html", (response) => response.text());
    if (parts === null) return;
    const fresh = parseHtml(parts);
    const olds = new Map(liveParts(document).map((part) => [liveName(part), part]));
    // A part with the keyboard's focus is not replaced, because that would lose the focus.
    const busy = (part: HTMLElement) => olds.get(liveName(part))?.contains(document.activeElement) ?? false;
    const news = liveParts(fresh).filter(
      (part) => latest.get(liveName(part)) !== part.outerHTML && !busy(part),
    );
    for (const part of news) {
      latest.set(liveName(part), part.outerHTML);
      const old = olds.get(liveName(part));
      if (!old) continue;
      keepOpen(old, part);
      old.replaceWith(document.adoptNode(part));
    }
    if (news.length > 0) changed(news.map(liveName));
  }

  setInterval(() => {
    if (document.visibilityState === "visible") void refresh();
  }, seconds * 1000);
  return refresh;
}

/** Returns where the server has the live parts of a page; the browser asks whether they are still the same. */
function liveAddress(page: string): string {
  const address = new URL(page);
  address.searchParams.set("live", "");
  return address.href;
}

function liveParts(root: ParentNode): HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>("[data-live]")];
}

function liveName(part: HTMLElement): string {
  return part.dataset.live ?? "";
}
