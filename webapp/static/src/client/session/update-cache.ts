/** A finished training whose round came to nothing, kept for the next round of the same version. */

import { same } from "../../core/data/equality";
import type { Train } from "../../protocol/rounds/participant-events";
import type { ServerFrame } from "../../protocol/wire/messages";
import type { TrainingResult } from "../workers/training-worker";

/** Refused for what it is; any other refusal is about the round it was for. */
const SPOILT = new Set(["not-finite", "norm-too-large", "wrong-length", "bad-examples"]);

/**
 * The last whole training of one visit, until a version is made or the update is found bad. An abandoned round costs
 * its clients nothing: what they trained holds as long as nobody has a newer version. Where updates are masked it was
 * not seen by anybody, and is masked anew.
 */
export class UpdateCache {
  #plan: Train | null = null;
  #trained: TrainingResult | null = null;

  /** Remembers what `plan` made if it was done to its end. Takes a copy: the update goes on to other workers. */
  keep(plan: Train, trained: TrainingResult): void {
    if (trained.steps < trained.planned) return;
    this.#plan = work(plan);
    this.#trained = copy(trained);
  }

  /** What `plan` would make, if that was made already. */
  take(plan: Train): TrainingResult | null {
    return this.#trained && same(this.#plan, work(plan)) ? copy(this.#trained) : null;
  }

  /** Forgets what a newer version makes stale, and what the server will never take. */
  hear(frame: ServerFrame): void {
    if (frame.type === "version" || (frame.type === "refused" && SPOILT.has(frame.code))) this.forget();
  }

  /** The visit is over; the next may train on something else. */
  forget(): void {
    this.#plan = null;
    this.#trained = null;
  }
}

/** What a plan asks to be trained. Its seed only orders the examples anew. */
function work(plan: Train): Train {
  return { ...plan, round: 0, seed: 0, seconds: 0, masking: null };
}

function copy(trained: TrainingResult): TrainingResult {
  return { ...trained, update: trained.update.slice(0), change: trained.change?.slice(0) ?? null };
}
