/** Signs of life of one link: when the next is due, how long a frame takes, and since when nothing came. Times are seconds. */

import type { PeerFrame } from "../../protocol/wire/mesh";

/** Outside of groups a link beats this often. */
const IDLE_BEAT = 2;
/** Beats in one patience. */
const BEATS = 4;
/** The latest round trip's part in the mean of them. */
const NEWEST = 0.25;

export type BeatFrame = Extract<PeerFrame, { readonly type: "beat" }>;

export class Keepalive {
  /** There and back; 0 until it is known. */
  seconds = 0;
  #heardAt: number;
  #beatAt = 0;
  #theirs = 0;
  #theirsAt = 0;

  constructor(now: number) {
    this.#heardAt = now;
    this.#theirsAt = now;
  }

  /** Something came. */
  received(now: number): void {
    this.#heardAt = now;
  }

  /** For how long nothing came. */
  silence(now: number): number {
    return now - this.#heardAt;
  }

  beaten({ sent, echo, since }: BeatFrame, now: number): void {
    this.#theirs = sent;
    this.#theirsAt = now;
    if (echo <= 0) return;
    const taken = Math.max(0, now - echo - since);
    this.seconds = this.seconds === 0 ? taken : (1 - NEWEST) * this.seconds + NEWEST * taken;
  }

  /** The beat to send now, if one is due. `patience` is that of the group in hand, null outside of groups. */
  due(patience: number | null, now: number): BeatFrame | null {
    if (now < this.#beatAt) return null;
    this.#beatAt = now + (patience === null ? IDLE_BEAT : Math.min(IDLE_BEAT, patience / BEATS));
    return this.beat(now);
  }

  beat(now: number): BeatFrame {
    return { type: "beat", sent: now, echo: this.#theirs, since: now - this.#theirsAt };
  }

  /** The next beat is due at once. */
  hurry(): void {
    this.#beatAt = 0;
  }
}
