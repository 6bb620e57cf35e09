/**
 * Prepares a member's part in a Byzantine round: its own work, or the check of another one's. The twin is
 * backend/peer/mesh/byzantine/learner.py.
 */

import { type Bytes, toHex } from "../../../core/crypto/bytes";
import type { Identity } from "../../../core/crypto/keys";
import { later, UserError } from "../../../core/user-messages";
import { firstState } from "../../../protocol/mesh/byzantine/first-state";
import { rolesOf } from "../../../protocol/mesh/byzantine/roles";
import type { AgreedState, WorkCase } from "../../../protocol/mesh/byzantine/state";
import type { WorkFinding } from "../../../protocol/mesh/byzantine/statement-bodies";
import type { Train } from "../../../protocol/rounds/participant-events";
import type { TrainingResult } from "../../workers/training-worker";
import type { WeightCache } from "../weight-store";
import type { MeshStates } from "./mesh-states";
import type { StateTransfer } from "./state-transfer";
import type { JudgedWork, TrainPlan, WorkJudge } from "./work-judge";

/**
 * What a member brings to the round after `state`, which is null before the first. It has an `update` to the `weights`;
 * null where it validates.
 */
export interface PreparedRound {
  readonly state: AgreedState | null;
  readonly weights: Bytes;
  /** Their SHA-256. */
  readonly hash: string;
  readonly update: Float32Array | null;
  readonly judgements: readonly WorkFinding[];
}

/** The training in a round: its result, and the weights that it began from. */
export interface LearnedRound {
  readonly base: Bytes;
  readonly result: TrainingResult;
}

export interface ByzantineLearnerOptions {
  /** This peer's public id. */
  readonly client: string;
  readonly identity: Identity;
  readonly states: MeshStates;
  readonly transfer: StateTransfer;
  readonly judge: WorkJudge;
  readonly weights: WeightCache;
  /** Returns weights from this peer, from others, or from the server. Throws an Error for people. */
  readonly fetchWeights: (hash: string) => Promise<Bytes>;
  /** This device checks the work of a case; null: it does not any more. */
  readonly checking: (one: WorkCase | null) => void;
  readonly judged: (work: JudgedWork) => void;
}

/** Trains by the rules, whatever the server's plan names: that gives the time of a round. */
export class ByzantineLearner {
  prepared: PreparedRound | null = null;
  readonly #options: ByzantineLearnerOptions;

  constructor(options: ByzantineLearnerOptions) {
    this.#options = options;
  }

  /** Does what is this member's in the next round; null if it is not needed any more. Throws an Error for people. */
  async learn(plan: Train, train: TrainPlan, isNeeded: () => boolean): Promise<LearnedRound | null> {
    const { client, states, transfer, judge, weights } = this.#options;
    this.prepared = null;
    await transfer.catchUp();
    const known = states.newest;
    if (!isNeeded()) return null;
    const state = known ?? (await this.#founding(plan));
    const base = weights.find(state.weights);
    if (!isNeeded()) return null;
    if (base === null)
      throw new UserError(later("The weights of the newest state are missing; other members have them."));
    const roles = rolesOf(state, states.rules.terms.validators);
    const audit = roles.audits.get(client);
    const court = roles.seated.includes(client) ? state.court : [];
    const { judgements, result } = await this.#judge(train, audit ? [...court, audit] : court, isNeeded);
    const works = audit === undefined;
    const own = works || result === null ? await judge.trained(train, state, client) : null;
    const done = own ?? result;
    if (done === null || !isNeeded()) return null;
    const update = works && own !== null ? new Float32Array(own.update) : null;
    this.prepared = { state: known, weights: base, hash: state.weights, update, judgements };
    return { base, result: done };
  }

  async #judge(train: TrainPlan, cases: readonly WorkCase[], isNeeded: () => boolean) {
    const { judge, checking, judged } = this.#options;
    const judgements: WorkFinding[] = [];
    let result: TrainingResult | null = null;
    for (const one of cases) {
      checking(one);
      const found = await judge.judge(train, one, isNeeded);
      if (found === null) continue;
      judgements.push(found.finding);
      judged(found);
      result = found.result ?? result;
    }
    checking(null);
    return { judgements, result };
  }

  /** Returns a state to draw the first work from: who else founds the mesh does not matter for that. */
  async #founding({ weights }: Train): Promise<AgreedState> {
    const { client, identity, states, fetchWeights } = this.#options;
    await this.#options.weights.keep(await fetchWeights(weights));
    return firstState(states.rules, weights, new Map([[client, toHex(identity.publicKey)]]));
  }
}
