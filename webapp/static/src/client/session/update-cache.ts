/** Caches a finished training whose round was abandoned, for the next round of the same version. */

import { same } from "../../core/data/equality";
import type { Train } from "../../protocol/rounds/participant-events";
import type { ServerFrame } from "../../protocol/wire/messages";
import type { TrainingResult } from "../workers/training-worker";

/** Refusals of the update itself; all others concern only the round. */
const INVALID_UPDATE_CODES = new Set(["not-finite", "norm-too-large", "wrong-length", "bad-examples"]);

/**
 * The last whole training of a session, until there is a new version or the update is found invalid. An abandoned
 * open round costs its clients nothing: their updates stay valid until a newer version exists. Updates of masked
 * rounds are not cached: the same update in two sums could be found by subtraction.
 */
export class UpdateCache {
  #plan: Train | null = null;
  #trained: TrainingResult | null = null;

  /**
   * Stores the result of an open round's `plan` if all its steps were done. Takes a copy, because the update is transferred to other
   * workers.
   */
  keep(plan: Train, trained: TrainingResult): void {
    if (trained.steps < trained.planned || plan.masking !== null) return;
    this.#plan = comparablePlan(plan);
    this.#trained = copy(trained);
  }

  /** Returns the result of `plan`, if it is in the cache. */
  take(plan: Train): TrainingResult | null {
    if (plan.masking !== null) return null;
    return this.#trained && same(this.#plan, comparablePlan(plan)) ? copy(this.#trained) : null;
  }

  /** Drops what a newer version makes stale, and what the server refused as invalid. */
  takeFrame(frame: ServerFrame): void {
    if (frame.type === "version" || (frame.type === "refused" && INVALID_UPDATE_CODES.has(frame.code)))
      this.forget();
  }

  /** Clears the cache at the end of a session; the next one may train on other data. */
  forget(): void {
    this.#plan = null;
    this.#trained = null;
  }
}

/**
 * Returns the plan without the fields that do not change its result. The seed only changes the order of the examples.
 */
function comparablePlan(plan: Train): Train {
  return { ...plan, round: 0, seed: 0, seconds: 0 };
}

function copy(trained: TrainingResult): TrainingResult {
  return { ...trained, update: trained.update.slice(0), change: trained.change?.slice(0) ?? null };
}
