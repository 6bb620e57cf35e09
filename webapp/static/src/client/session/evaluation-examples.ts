/** Which examples a page asks the newest version about: those that nobody trains on, where the server dealt out such. */

import type { MistakeFindings } from "../../core/data/mistakes";
import type { WeightsSource } from "../../core/messages/training";
import type { Evaluate } from "../../protocol/client/evaluation";
import type { Train } from "../../protocol/rounds/participant-events";
import type { Trainer } from "../workers/training-worker";

export class EvaluationExamples {
  #dealt: readonly string[] = [];
  #aside: readonly string[] = [];

  trained({ shards }: Train): void {
    this.#dealt = shards.map(({ sha256 }) => sha256);
  }

  measured({ shards }: Evaluate): void {
    this.#aside = shards.map(({ sha256 }) => sha256);
  }

  /** Null where nothing can be said now. */
  async ask(trainer: Trainer | null, weights: WeightsSource): Promise<MistakeFindings | null> {
    const aside = this.#aside.length > 0;
    return (await trainer?.examine(weights, aside ? this.#aside : this.#dealt, aside)) ?? null;
  }
}
