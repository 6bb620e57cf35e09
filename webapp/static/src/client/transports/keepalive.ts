/**
 * The heartbeats of one link: when the next is due, the round-trip time, and the time without data. Times are
 * seconds.
 */

import type { PeerFrame } from "../../protocol/wire/mesh";

/** Seconds between heartbeats outside of groups. */
const IDLE_BEAT = 2;
/** Heartbeats per `patience`. */
const BEATS = 4;
/** The weight of the latest round trip in their mean. */
const NEWEST = 0.25;

export type BeatFrame = Extract<PeerFrame, { readonly type: "beat" }>;

export class Keepalive {
  /** The mean round-trip time; 0 until it is known. */
  seconds = 0;
  #heardAt: number;
  #beatAt = 0;
  #theirs = 0;
  #theirsAt = 0;

  constructor(now: number) {
    this.#heardAt = now;
    this.#theirsAt = now;
  }

  /** Records that data arrived. */
  received(now: number): void {
    this.#heardAt = now;
  }

  /** Returns the time since data last arrived. */
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

  /** Returns the heartbeat to send now, or null. `patience` is that of the current group, null outside of groups. */
  due(patience: number | null, now: number): BeatFrame | null {
    if (now < this.#beatAt) return null;
    this.#beatAt = now + (patience === null ? IDLE_BEAT : Math.min(IDLE_BEAT, patience / BEATS));
    return this.beat(now);
  }

  beat(now: number): BeatFrame {
    return { type: "beat", sent: now, echo: this.#theirs, since: now - this.#theirsAt };
  }

  /** Makes the next heartbeat due immediately. */
  hurry(): void {
    this.#beatAt = 0;
  }
}
