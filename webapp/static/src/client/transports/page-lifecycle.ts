/** Notifies links when the page sleeps, wakes, or changes its network. */

import type { LinkManager } from "./links";

/** Listens until the returned function is called. */
export function watchSleep(links: LinkManager): () => void {
  const listening = new AbortController();
  const { signal } = listening;
  const wake = () => {
    if (document.visibilityState === "visible") links.wake();
  };
  document.addEventListener("visibilitychange", wake, { signal });
  document.addEventListener("resume", () => links.wake(), { signal });
  document.addEventListener("freeze", () => links.sleep(), { signal });
  addEventListener("online", () => links.wake(), { signal });
  return () => listening.abort();
}
