/** Keeps the status line steady: a phase is shown once it has lasted a moment. Pure: the time is an argument. */

import type { Status } from "./texts";

/** Milliseconds that a phase must last before it is shown. */
export const LASTS = 400;
/** Milliseconds for which what is shown may be over while no other phase lasts. */
const OLDEST = 2000;
/** Shown at once: the ends of a training, which nothing follows by itself. */
const ENDS: readonly string[] = ["stopped", "finished"];

/** What is shown, and what may follow it. Times are those of `performance.now()`. */
export interface SteadyState {
  readonly shown: Status | null;
  /** The key of the current phase, and since when it lasts; null if it is shown and was not interrupted. */
  readonly next: { readonly key: string; readonly since: number } | null;
  /** Since when the shown phase is over, or has been interrupted. */
  readonly over: number | null;
  /** When the page has to look again at the latest. */
  readonly due: number | null;
}

export const INITIAL: SteadyState = { shown: null, next: null, over: null, due: null };

/** Returns the state after the device's status was `status` at `now`. */
export function steady({ shown, next, over }: SteadyState, status: Status, now: number): SteadyState {
  const key = keyOf(status);
  // A start is the answer to the button.
  if (shown === null || ENDS.includes(status.phase) || ENDS.includes(shown.phase)) return settled(status);
  const since = next?.key === key ? next.since : now;
  if (keyOf(shown) === key) {
    // A phase that only flashes up again does not make the line any newer.
    if (over === null || now >= since + LASTS) return settled(status);
    return { shown: status, next: { key, since }, over, due: null };
  }
  const from = over ?? now;
  const due = Math.min(since + LASTS, from + OLDEST);
  return now >= due ? settled(status) : { shown, next: { key, since }, over: from, due };
}

function settled(shown: Status): SteadyState {
  return { shown, next: null, over: null, due: null };
}

/** Counts and seconds change within a phase; what is spoken does not. */
function keyOf({ phase, spoken }: Status): string {
  return `${phase} ${spoken}`;
}
