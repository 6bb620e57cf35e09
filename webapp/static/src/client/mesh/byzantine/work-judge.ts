/**
 * Does another member's work again, and compares: the same, other, doubtful, or nothing to compare. What a worker said
 * of means, and the mean that it made, belong to its work. Where the work cannot be done here, the finding says so, and
 * accuses nobody. The twin is backend/peer/mesh/byzantine/work_judge.py.
 */

import { type Bytes, sha256, toHex } from "../../../core/crypto/bytes";
import { cut, partSizes } from "../../../core/numerics/butterfly/parts";
import { partRadius } from "../../../protocol/mesh/byzantine/checks";
import { coinSeed } from "../../../protocol/mesh/byzantine/drawn-work";
import type { AgreedState, WorkCase } from "../../../protocol/mesh/byzantine/state";
import type { WorkFinding } from "../../../protocol/mesh/byzantine/statement-bodies";
import { planOf } from "../../../protocol/mesh/byzantine/work-plan";
import type { Train } from "../../../protocol/rounds/participant-events";
import { retry } from "../../session/retry";
import type { AveragingWorker } from "../../workers/averaging-worker";
import type { TrainingResult } from "../../workers/training-worker";
import type { WeightCache } from "../weight-store";
import type { WeightTransfer } from "../weight-transfer";
import type { RoundContents } from "./contents";
import { keepersOf, type MeshStates, type RoundWork } from "./mesh-states";
import type { StateLinks } from "./state-transfer";

/** Trains from these weights by a plan. Throws an Error for people. */
export type TrainPlan = (plan: Train, weights: Bytes) => Promise<TrainingResult>;

/**
 * What was found, and the training that was done to find it; none where there was nothing to compare. `distance` is
 * that of the shown work from the work done again, as in `likeness`; null where bytes decide.
 */
export interface JudgedWork {
  readonly finding: WorkFinding;
  readonly result: TrainingResult | null;
  /** Why this device was unable to find anything. */
  readonly problem: string | null;
  readonly distance: number | null;
}

/** The owner of `part`, its pieces, and the sizes and radii of all parts. */
interface CheckedTurn {
  readonly work: RoundWork;
  readonly part: number;
  readonly shown: readonly Bytes[];
  readonly sizes: readonly number[];
  readonly radii: readonly number[];
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
  async trained(train: TrainPlan, state: AgreedState, client: string): Promise<TrainingResult | null> {
    const { states, weights } = this.#options;
    const base = weights.find(state.weights);
    const plan = planOf(states.rules, state, client);
    const result = base && (await train(plan, base));
    return result?.steps === states.rules.steps ? result : null;
  }

  /** Judges a case; null where this peer lacks what the work began from, or the finding is not needed any more. */
  async judge(
    train: TrainPlan,
    { target, round }: WorkCase,
    isNeeded: () => boolean,
  ): Promise<JudgedWork | null> {
    const { states, weights, worker } = this.#options;
    const work = states.workOf(round);
    const pieces = work?.pieces.get(target);
    const base = work && weights.find(work.base.weights);
    if (!work || !pieces || !base) return null;
    // Who worked has a piece of each part: to commit to none costs nothing.
    if (pieces.length === 0) return untrained({ target, round, found: "other" });
    const size = base.length / 4;
    const shown = await this.#shown(work, target, pieces, size);
    if (shown === null) return untrained({ target, round, found: "missing" });
    const problems: string[] = [];
    const result = await retry({
      isNeeded: () => problems.length === 0 && isNeeded(),
      ask: () => this.trained(train, work.base, target),
      troubled: () => undefined,
      gaveUp: (problem) => problems.push(problem),
    });
    const [problem] = problems;
    if (problem !== undefined) return untrained({ target, round, found: "unable" }, problem);
    if (result === null) return null;
    const made = cut(new Float32Array(result.update), pieces.length);
    const { tolerance, steps } = states.rules;
    const compared = await worker.ask({ type: "compare", made, shown, base, steps, tolerance });
    const { found, distance } = compared;
    const isTrue = found !== "same" || (await this.#checksTruly(work, target, shown, size));
    return { finding: { target, round, found: isTrue ? found : "other" }, result, problem: null, distance };
  }

  /** Returns the pieces that a member committed to, from it or from who else has them. */
  async #shown(
    work: RoundWork,
    target: string,
    pieces: readonly string[],
    size: number,
  ): Promise<readonly Bytes[] | null> {
    const sizes = partSizes(size, pieces.length);
    const keepers = keepersOf(work, target);
    const found: Bytes[] = [];
    for (const [part, digest] of pieces.entries()) {
      // Its author may stand still, which costs some seconds to see.
      const first = [...new Set([keepers[part] ?? target, target])];
      const piece = await this.#find(digest, sizes[part] as number, first);
      if (piece === null) return null;
      found.push(piece);
    }
    return found;
  }

  /** Returns the bytes of so many values by their digest, from who is asked `first` or from others. */
  async #find(digest: string, values: number, first: readonly string[]): Promise<Bytes | null> {
    const { contents, fetching, links } = this.#options;
    const others = links.linked.filter((client) => !first.includes(client));
    return contents.find(digest) ?? fetching.fetch(digest, 4 * values, [...first, ...others]);
  }

  /**
   * Whether what a worker said of all means is true, and the mean of its own part (Gorbunov et al. 2022,
   * CheckComputations), as far as bytes that tell are to be had. Newcomers said nothing.
   */
  async #checksTruly(
    work: RoundWork,
    target: string,
    shown: readonly Bytes[],
    size: number,
  ): Promise<boolean> {
    const part = work.workers.indexOf(target);
    if (part < 0) return true;
    const sizes = partSizes(size, work.workers.length);
    const radii = sizes.map((values) => partRadius(work.base.radius, values));
    const checked = { work, part, shown, sizes, radii };
    return (await this.#saidRightNumbers(checked)) && (await this.#madeRightMean(checked));
  }

  async #saidRightNumbers({ work, part, shown, sizes, radii }: CheckedTurn): Promise<boolean> {
    const { contents, worker } = this.#options;
    const said = work.checks.get(work.workers[part] as string);
    const means = work.means.map((digest) => contents.find(digest)).filter((mean) => mean !== null);
    if (said === undefined || means.length < work.means.length) return true;
    const about = { means, sizes, pieces: shown, radii, seed: coinSeed(work.coin), said };
    const { are_right } = await worker.ask({ type: "check_numbers", ...about });
    return are_right;
  }

  async #madeRightMean({ work, part, shown, sizes, radii }: CheckedTurn): Promise<boolean> {
    const owner = work.workers[part] as string;
    const [size, radius] = [sizes[part] as number, radii[part] as number];
    const pieces: Bytes[] = [];
    for (const author of work.workers) {
      const digest = work.pieces.get(author)?.[part];
      const piece =
        author === owner ? shown[part] : digest && (await this.#find(digest, size, [owner, author]));
      if (!piece) return true;
      pieces.push(piece);
    }
    const { bytes } = await this.#options.worker.ask({ type: "make_mean", pieces, size, radius });
    return toHex(await sha256(bytes)) === work.means[part];
  }
}

function untrained(finding: WorkFinding, problem: string | null = null): JudgedWork {
  return { finding, result: null, problem, distance: null };
}
