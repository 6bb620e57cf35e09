/**
 * One browser's membership in a Byzantine mesh: its states, its work, and its part in rounds. The twin is
 * backend/peer/mesh/byzantine/member.py.
 */

import { type Bytes, toHex } from "../../../core/crypto/bytes";
import type { Identity } from "../../../core/crypto/keys";
import type { TellState } from "../../../protocol/mesh/byzantine/encoded-state";
import type { Conviction } from "../../../protocol/mesh/byzantine/evidence/conviction";
import { rulesDigest } from "../../../protocol/mesh/byzantine/first-state";
import type { Train } from "../../../protocol/rounds/participant-events";
import type { ByzantineFrame, ByzantineRules, GroupFrame, GroupOrder } from "../../../protocol/wire/mesh";
import type { LinkManager } from "../../transports/links";
import { AveragingWorker } from "../../workers/averaging-worker";
import { EvidenceWorker } from "../../workers/evidence-worker";
import type { ResultSigner } from "../result-signer";
import type { WeightCache } from "../weight-store";
import type { WeightTransfer } from "../weight-transfer";
import { ByzantineAverager } from "./averager";
import { BanExchange } from "./ban-exchange";
import { BanStore } from "./ban-store";
import { ROUNDS_KEPT, type RoundContents } from "./contents";
import { ByzantineLearner, type LearnedRound } from "./learner";
import { MeshStates } from "./mesh-states";
import { PublicShards } from "./public-shards";
import { type ModelSize, StateTransfer } from "./state-transfer";
import { type ByzantineView, NOTHING_CHECKED, standingOf } from "./view";
import { type JudgedWork, type TrainPlan, WorkJudge } from "./work-judge";

export interface ByzantineMemberOptions {
  readonly rules: ByzantineRules;
  readonly task: string;
  /** This peer's public id. */
  readonly own: string;
  /** The server's address, and whether it is there. */
  readonly origin: string;
  readonly connected: () => boolean;
  /** The task's full address, by which the newest state is stored. */
  readonly address: string;
  readonly identity: Identity;
  readonly links: LinkManager;
  readonly weights: WeightCache;
  readonly contents: RoundContents;
  readonly fetching: WeightTransfer;
  readonly results: ResultSigner;
  readonly fetchWeights: (hash: string) => Promise<Bytes>;
  readonly model: () => ModelSize;
  /** Whether this peer never joins the group of this round and number. */
  readonly declines: (round: number, group: number) => boolean;
  /** Sends to the server. */
  readonly tellServer: (frame: TellState) => void;
  /** Data that the page shows have changed. */
  readonly changed: () => void;
}

export class ByzantineMember {
  readonly #options: ByzantineMemberOptions;
  readonly #worker = new AveragingWorker();
  /** Started with the first evidence. */
  #evidenceWorker: EvidenceWorker | null = null;
  readonly #states: MeshStates;
  readonly #transfer: StateTransfer;
  readonly #learner: ByzantineLearner;
  readonly #averager: ByzantineAverager;
  readonly #store: BanStore;
  readonly #bans: BanExchange;
  readonly #shards: PublicShards;
  #view: ByzantineView = NOTHING_CHECKED;
  /** The stored state is read once. */
  #read: Promise<void> | null = null;

  constructor(options: ByzantineMemberOptions) {
    const { rules, address, weights } = options;
    this.#options = options;
    // What a court judges began from weights of so many rounds ago.
    weights.most = ROUNDS_KEPT + 1;
    const [states, worker] = [new MeshStates(rules, address), this.#worker];
    this.#states = states;
    this.#store = new BanStore(address, (evidence) => this.#convict(evidence));
    this.#bans = new BanExchange({
      ...options,
      run: rules.run,
      store: this.#store,
      banned: (conviction) => this.#show({ evidence: [...this.#view.evidence, conviction] }),
    });
    this.#shards = new PublicShards(options);
    this.#transfer = new StateTransfer({ ...options, states });
    const transfer = this.#transfer;
    const judge = new WorkJudge({ ...options, states, worker });
    this.#learner = new ByzantineLearner({
      ...options,
      client: options.own,
      states,
      transfer,
      judge,
      checking: (one) => this.#show({ checking: one }),
      judged: (judged) => this.#judged(judged),
    });
    this.#averager = new ByzantineAverager({
      ...options,
      states,
      transfer,
      worker,
      bans: this.#bans,
      removed: (client, why) => this.#show({ removed: [...this.#view.removed, { client, why }] }),
    });
  }

  /** Whether it checks by these rules. */
  isBy(rules: ByzantineRules): boolean {
    return rulesDigest(rules) === this.#states.digest;
  }

  get view(): ByzantineView {
    const { own, identity, rules } = this.#options;
    const standing = standingOf(this.#states.newest, own, toHex(identity.publicKey), rules.terms);
    return { ...this.#view, standing, banned: this.#states.newest?.membership.banned.length ?? 0 };
  }

  /** Does what is this member's in the next round; null if it is not needed any more. Throws an Error for people. */
  async learn(plan: Train, train: TrainPlan, isNeeded: () => boolean): Promise<LearnedRound | null> {
    this.#read ??= this.#readStored();
    await this.#read;
    const brought: TrainPlan = async (drawn, weights) => {
      await this.#shards.bring(drawn.shards);
      return train(drawn, weights);
    };
    return this.#learner.learn(plan, brought, isNeeded);
  }

  /** Takes part in a round with what was prepared for it. */
  average(order: GroupOrder): void {
    if (this.#learner.prepared !== null) void this.#averager.average(order, this.#learner.prepared);
  }

  /** Leaves the current round. */
  abort(): void {
    this.#averager.abort();
  }

  /** Returns the evidence or the public shard of this SHA-256, for a peer that fetches it. */
  find(hash: string): Bytes | null | Promise<Bytes | null> {
    return this.#store.find(hash) ?? this.#shards.find(hash);
  }

  /** Takes a new link. */
  up(client: string): void {
    this.#bans.up(client);
  }

  down(client: string): void {
    this.#averager.down(client);
  }

  serverReached(): void {
    this.#averager.serverReached();
  }

  receive(client: string, frame: GroupFrame | ByzantineFrame): void {
    if (frame.type === "ask_state") this.#transfer.asked(client, frame.after);
    else if (frame.type === "tell_state") this.#transfer.told(client, frame);
    else if (frame.type === "tell_evidence") void this.#bans.received(client, frame);
    else this.#averager.receive(client, frame);
  }

  close(): void {
    this.#averager.close();
    this.#worker.terminate();
    this.#evidenceWorker?.terminate();
  }

  #convict(evidence: Bytes): Promise<Conviction> {
    this.#evidenceWorker ??= new EvidenceWorker();
    return this.#evidenceWorker.convict(evidence, this.#options.task, this.#options.rules.run);
  }

  async #readStored(): Promise<void> {
    await this.#bans.read();
    const weights = await this.#states.read();
    const { newest, slots } = this.#states;
    if (newest === null) return;
    this.#bans.cutOff(newest.membership.banned);
    if (weights !== null) await this.#transfer.keep(newest, weights, slots);
  }

  #judged({ finding, distance, problem }: JudgedWork): void {
    const { findings: before } = this.#view;
    const findings = problem === null ? [...before, { ...finding, distance }] : before;
    this.#show({ findings, problem });
  }

  #show(change: Partial<ByzantineView>): void {
    this.#view = { ...this.#view, ...change };
    this.#options.changed();
  }
}
