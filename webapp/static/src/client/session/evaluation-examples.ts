/**
 * Selects the examples on which a page evaluates the newest version: held-out ones, if the server assigned such, else
 * those that this client trains on.
 */

import type { MistakeFindings } from "../../core/data/mistakes";
import type { WeightsSource } from "../../core/messages/training";
import type { Evaluate } from "../../protocol/client/evaluation";
import type { Train } from "../../protocol/rounds/participant-events";
import type { Trainer } from "../workers/training-worker";

export class EvaluationExamples {
  #trainingShards: readonly string[] = [];
  #heldOutShards: readonly string[] = [];

  usePlan({ shards }: Train): void {
    this.#trainingShards = shards.map(({ sha256 }) => sha256);
  }

  useOrder({ shards }: Evaluate): void {
    this.#heldOutShards = shards.map(({ sha256 }) => sha256);
  }

  /** Returns null if no result is available now. */
  async examine(trainer: Trainer | null, weights: WeightsSource): Promise<MistakeFindings | null> {
    const isHeldOut = this.#heldOutShards.length > 0;
    return (
      (await trainer?.examine(weights, isHeldOut ? this.#heldOutShards : this.#trainingShards, isHeldOut)) ??
      null
    );
  }
}
