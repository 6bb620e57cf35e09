/**
 * Schedules the attempts at links to one peer, and their retries. Times are seconds of a clock that the caller reads.
 */

import type { Way } from "../../protocol/wire/mesh";
import type { BrowserWay } from "./channel";

/** Seconds that the peer with the greater id leaves to the other for beginning. */
const POLITE_WAIT = 3;
/** Seconds after which the relay is used if no better link exists. */
const RELAY_AFTER = 8;
const FIRST_RETRY = 4;
const BETTER_WAY_EVERY = 60;

/** When a way is tried next, and how often it failed in a row. */
interface WayAttempts {
  next: number;
  failures: number;
}

export class AttemptSchedule {
  readonly #politeness: number;
  readonly #trials: Record<BrowserWay, WayAttempts>;

  constructor(
    private readonly possible: ReadonlySet<Way>,
    leads: boolean,
    now: number,
  ) {
    this.#politeness = leads ? 0 : POLITE_WAIT;
    const relayAfter = possible.has("webrtc") ? RELAY_AFTER : 0;
    this.#trials = {
      webrtc: { next: now + this.#politeness, failures: 0 },
      relay: { next: now + relayAfter + this.#politeness, failures: 0 },
    };
  }

  due(way: BrowserWay, now: number): boolean {
    return this.possible.has(way) && now >= this.#trials[way].next;
  }

  succeeded(way: BrowserWay): void {
    this.#trials[way].failures = 0;
  }

  /** Schedules a retry after a failure; `standing` says that another way is open meanwhile. */
  failed(way: BrowserWay, standing: boolean, now: number): void {
    const trial = this.#trials[way];
    const wait = standing ? BETTER_WAY_EVERY : Math.min(BETTER_WAY_EVERY, FIRST_RETRY * 2 ** trial.failures);
    trial.failures += 1;
    trial.next = now + wait + this.#politeness;
    // If there is no direct link, the relay is tried immediately.
    if (way === "webrtc") this.#noLater("relay", now);
  }

  /** Tries another link immediately, since the link in use is gone. */
  reconnect(now: number): void {
    const { webrtc, relay } = this.#trials;
    webrtc.next = now + this.#politeness;
    relay.next = now + (this.possible.has("webrtc") ? RELAY_AFTER : 0) + this.#politeness;
  }

  /** Tries delayed ways immediately, since the peer can be reached again. */
  retryDelayed(now: number): void {
    for (const trial of Object.values(this.#trials)) trial.failures = 0;
    this.#noLater("webrtc", now);
  }

  /** Makes no attempts at this peer for a while. */
  rest(now: number): void {
    this.#trials.webrtc.next = this.#trials.relay.next = now + BETTER_WAY_EVERY;
  }

  #noLater(way: BrowserWay, now: number): void {
    this.#trials[way].next = Math.min(this.#trials[way].next, now + this.#politeness);
  }
}
