/** Keeps the screen on during training: a sleeping device computes nothing. */

import { say } from "../../i18n";

/** Returns a function that says whether the lock is wanted; `tell` gets a sentence for people, or null. */
export function wakeLock(tell: (sentence: string | null) => void): (active: boolean) => void {
  let active = false;
  let lock: WakeLockSentinel | null = null;

  async function settle(): Promise<void> {
    // Browsers give locks only to visible pages, and release them when the page is hidden.
    if (active && lock === null && document.visibilityState === "visible" && "wakeLock" in navigator) {
      const given = await navigator.wakeLock.request("screen").catch(() => null);
      lock = given;
      given?.addEventListener("release", () => {
        if (lock === given) lock = null;
      });
    }
    if (!active && lock) {
      const given = lock;
      lock = null;
      await given.release();
    }
    tell(sentence());
  }

  function sentence(): string | null {
    if (!active) return null;
    return lock ? say.card.screenStays : say.card.screenMayDarken;
  }

  document.addEventListener("visibilitychange", () => void settle());
  return (next) => {
    if (next === active) return;
    active = next;
    void settle();
  };
}
