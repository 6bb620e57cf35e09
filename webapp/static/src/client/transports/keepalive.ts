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

/** Each end of a new link measures it once by so many bytes: chunks of weights that nobody asked for. */
export const PROBE_BYTES = 128 * 1024;
const PROBE_WEIGHTS = "0".repeat(64);
/** An answer that comes sooner is not told from jitter. */
const MIN_PROBE_SECONDS = 1e-3;
const MAX_PROBES = 3;

export type BeatFrame = Extract<PeerFrame, { readonly type: "beat" }>;

export class Keepalive {
  /** The mean round-trip time; 0 until it is known. */
  seconds = 0;
  /** The bytes per second that a probe measured; 0 until then. */
  probedRate = 0;
  #probes = 0;
  /** When the heartbeat behind a probe was sent; null unless its echo is awaited. */
  #probeAt: number | null = null;
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
    if (this.#probeAt !== null && echo >= this.#probeAt) {
      const isEcho = echo === this.#probeAt;
      this.#probeAt = null;
      if (isEcho) {
        this.probedRate = PROBE_BYTES / Math.max(taken - this.seconds, MIN_PROBE_SECONDS);
        return;
      }
    }
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

  /** Whether a probe may measure the rate now: the round-trip time is known, and no probe measured it yet. */
  get wantsProbe(): boolean {
    const isMeasured = this.probedRate > 0 || this.#probeAt !== null;
    return !isMeasured && this.seconds > 0 && this.#probes < MAX_PROBES;
  }

  /** Returns the heartbeat to send behind `probeChunks`, in order; its echo gives the rate. */
  probe(now: number): BeatFrame {
    this.#probes += 1;
    this.#probeAt = now;
    return this.beat(now);
  }

  /** Makes the next heartbeat due immediately. */
  hurry(): void {
    this.#beatAt = 0;
  }
}

/** Returns the frames of a probe, with at most `room` bytes of data each. */
export function* probeChunks(room: number): Generator<PeerFrame> {
  for (let offset = 0; offset < PROBE_BYTES; offset += room) {
    const data = new Uint8Array(Math.min(room, PROBE_BYTES - offset));
    yield { type: "weights", weights: PROBE_WEIGHTS, size: 0, offset, data };
  }
}

/** Whether a frame only measures the link. */
export function isProbe(frame: PeerFrame): boolean {
  return frame.type === "weights" && frame.weights === PROBE_WEIGHTS;
}
