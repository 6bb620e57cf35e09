/**
 * Does another member's work again, and compares: the same, other, doubtful, or nothing to compare. The twin is
 * backend/peer/mesh/byzantine/work_judge.py.
 */

import type { Bytes } from "../../../core/crypto/bytes";
import { cut, partSizes } from "../../../core/numerics/butterfly/parts";
import type { AgreedState, WorkCase } from "../../../protocol/mesh/byzantine/state";
import type { WorkFinding } from "../../../protocol/mesh/byzantine/statement-bodies";
import { planOf } from "../../../protocol/mesh/byzantine/work-plan";
import type { Train } from "../../../protocol/rounds/participant-events";
import type { AveragingWorker } from "../../workers/averaging-worker";
import type { TrainingResult } from "../../workers/training-worker";
import type { WeightCache } from "../weight-store";
import type { WeightTransfer } from "../weight-transfer";
import type { RoundContents } from "./contents";
import type { MeshStates } from "./mesh-states";
import type { StateLinks } from "./state-transfer";

/**
 * Trains from these weights by a plan; null if the result is not needed any more, or if this device cannot do it, which
 * it then told.
 */
export type TrainPlan = (plan: Train, weights: Bytes, isJudged: boolean) => Promise<TrainingResult | null>;

/** What was found, and the training that was done to find it; none where there was nothing to compare. */
export interface JudgedWork {
  readonly finding: WorkFinding;
  readonly result: TrainingResult | null;
}

export interface WorkJudgeOptions {
  readonly states: MeshStates;
  readonly weights: WeightCache;
  readonly contents: RoundContents;
  readonly fetching: WeightTransfer;
  readonly links: StateLinks;
  readonly worker: AveragingWorker;
}

export class WorkJudge {
  readonly #options: WorkJudgeOptions;

  constructor(options: WorkJudgeOptions) {
    this.#options = options;
  }

  /** Does the work of `client` in the round after `state`, on this device; null unless all its steps are done. */
  async trained(
    train: TrainPlan,
    state: AgreedState,
    client: string,
    isJudged: boolean,
  ): Promise<TrainingResult | null> {
    const { states, weights } = this.#options;
    const base = weights.find(state.weights);
    const plan = planOf(states.rules, state, client);
    const result = base && (await train(plan, base, isJudged));
    return result?.steps === states.rules.steps ? result : null;
  }

  /** Judges a case; null where this peer lacks what the work began from, or could not do it. */
  async judge(train: TrainPlan, { target, round }: WorkCase): Promise<JudgedWork | null> {
    const { states, weights, worker } = this.#options;
    const work = states.workOf(round);
    const pieces = work?.pieces.get(target);
    if (work === null || pieces === undefined || weights.find(work.base.weights) === null) return null;
    const size = (weights.find(work.base.weights)?.length ?? 0) / 4;
    const shown = await this.#shown(target, pieces, size);
    if (shown === null) return { finding: { target, round, found: "missing" }, result: null };
    const result = await this.trained(train, work.base, target, true);
    if (result === null) return null;
    const made = cut(new Float32Array(result.update), pieces.length);
    const { tolerance } = states.rules;
    const { found } = await worker.ask({ type: "compare", made, shown, tolerance });
    return { finding: { target, round, found }, result };
  }

  /** Returns the pieces that a member committed to, from it or from who else has them. */
  async #shown(target: string, pieces: readonly string[], size: number): Promise<readonly Bytes[] | null> {
    const { contents, fetching, links } = this.#options;
    const sizes = partSizes(size, pieces.length);
    const found: Bytes[] = [];
    for (const [part, digest] of pieces.entries()) {
      const bytes = 4 * (sizes[part] as number);
      const others = [target, ...links.linked.filter((client) => client !== target)];
      const piece = contents.find(digest) ?? (await fetching.fetch(digest, bytes, others));
      if (piece === null) return null;
      found.push(piece);
    }
    return found;
  }
}
