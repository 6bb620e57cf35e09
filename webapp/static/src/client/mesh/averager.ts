/** Averages with groups: turns what the peer trained into new weights that all survivors have. Owns the exchanges. */

import type { Bytes } from "../../core/crypto/bytes";
import type { Identity } from "../../core/crypto/keys";
import { outerStep, sum } from "../../core/numerics/aggregation/outer-step";
import { inEnglish, messageOf, type UserMessage } from "../../core/user-messages";
import type { GroupAveraged, GroupFailed } from "../../protocol/mesh/member-events";
import type { Train } from "../../protocol/rounds/participant-events";
import type { Certificate, GroupFrame, GroupOrder, Outer } from "../../protocol/wire/mesh";
import type { LinkManager } from "../transports/links";
import { AveragingWorker } from "../workers/averaging-worker";
import { type AttestFrame, CertificateCollector } from "./certificate-collector";
import { EarlyFrames } from "./early-frames";
import { Exchange, type GroupOutcome } from "./exchange";
import type { WeightCache } from "./weight-store";

/** The result of a training, the weights it began from, and the outer step before averaging. */
export interface TrainedWork {
  readonly plan: Train;
  /** float32 [P]. */
  readonly update: Float32Array;
  readonly examples: number;
  readonly base: Float32Array;
  readonly outer: Outer;
  /** The number of trained values; the rest are running statistics. */
  readonly trainable: number;
  readonly bundle: string;
  /** The name of the task's run. */
  readonly run: string;
}

/**
 * A group of which this peer is, or was, a member. `outcome` is null until there is one; `holders` counts the
 * survivors that signed it, since others may have been lost before they had it.
 */
export interface GroupView {
  readonly order: GroupOrder;
  readonly outcome: (Omit<GroupOutcome, "mean"> & { readonly holders: number }) | null;
  /** Why there is no outcome. */
  readonly reason: UserMessage | null;
}

export interface AveragerOptions {
  readonly task: string;
  /** This peer's public id. */
  readonly own: string;
  readonly identity: Identity;
  readonly links: LinkManager;
  readonly holdings: WeightCache;
  /** Returns the key of a peer by its public id. */
  readonly identityOf: (client: string) => Uint8Array | null;
  readonly ended: (report: GroupAveraged | GroupFailed) => void;
  readonly certified: (certificate: Certificate) => void;
  /** Whether this peer never joins the group of this round and number. */
  readonly declines: (round: number, group: number) => boolean;
  readonly changed: () => void;
}

export class Averager {
  readonly #options: AveragerOptions;
  readonly #worker = new AveragingWorker();
  /** The exchange of the last group: other members may ask about it after it ended here. */
  #exchange: { readonly order: GroupOrder; readonly exchange: Exchange } | null = null;
  readonly #early: EarlyFrames;
  #attesting: CertificateCollector | null = null;
  /** The momentum of the outer step. */
  #momentum: Float32Array<ArrayBuffer> = new Float32Array();
  #view: GroupView | null = null;
  #keepaliveTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: AveragerOptions) {
    this.#options = options;
    const { links, declines } = options;
    this.#early = new EarlyFrames({ send: (client, frame) => links.send(client, frame), declines });
  }

  get view(): GroupView | null {
    return this.#view;
  }

  /** Takes part in the group; reports the outcome by `ended`. */
  async average(order: GroupOrder, work: TrainedWork): Promise<void> {
    const { task, own, links } = this.#options;
    const { bundle } = work;
    this.abort();
    this.#early.join(order);
    const { way, memory } = outerStep(work.outer, work.update, work.trainable, this.#previousMomentum(work));
    const vector = order.subject === "changes" ? way : sum(work.base, way);
    // Members of a serverless group cannot know each other's numbers of examples beforehand (0033).
    const weight = order.reducer === "mean" ? Math.min(work.examples, order.most_weight) : 1;
    links.patience(order.patience);
    this.#show({ order, outcome: null, reason: null });
    let exchange: Exchange | null = null;
    try {
      exchange = new Exchange({ order, task, bundle, own, vector, weight, links, worker: this.#worker });
      this.#exchange = { order, exchange };
      exchange.start();
      for (const client of order.members) if (links.way(client) !== null) exchange.up(client);
      this.#hearEarly(order);
      const outcome = await exchange.result;
      const current = this.#exchange?.exchange === exchange;
      if (current) await this.#averaged(order, work, outcome);
      // Only after success: a peer without a result keeps its earlier memory.
      if (current) this.#momentum = memory;
    } catch (problem) {
      if (exchange === null || this.#exchange?.exchange === exchange) this.#failed(order, messageOf(problem));
    } finally {
      if (exchange === null || this.#exchange?.exchange === exchange)
        this.#restoreKeepaliveLater(order.patience);
    }
  }

  /** Leaves the current group. */
  abort(): void {
    const previous = this.#exchange;
    this.#exchange = null;
    previous?.exchange.close();
    clearTimeout(this.#keepaliveTimer);
    this.#options.links.patience(null);
  }

  /** Leaves the current group and ends the worker. */
  close(): void {
    this.abort();
    this.#early.close();
    this.#worker.terminate();
  }

  up(client: string): void {
    this.#exchange?.exchange.up(client);
  }

  down(client: string): void {
    this.#exchange?.exchange.down(client);
  }

  silent(client: string): void {
    this.#exchange?.exchange.silent(client);
  }

  /** The server answered: groups of the peers that this one is not in go on without it. */
  serverReached(): void {
    this.#early.serverReached();
  }

  /** Takes a frame of a group's member. */
  receive(client: string, frame: GroupFrame): void {
    const { round, group } = frame;
    if (frame.type === "attest") {
      const ending = this.#attesting?.ending;
      if (ending?.round === round && ending.group === group) void this.#attested(client, frame);
      else this.#early.keep(client, frame);
      return;
    }
    const order = this.#exchange?.order;
    if (order?.round === round && order.group === group) this.#exchange?.exchange.receive(client, frame);
    else this.#early.keep(client, frame);
  }

  /** Returns to the slower heartbeats after a while: other members may still be in the group. */
  #restoreKeepaliveLater(patience: number): void {
    clearTimeout(this.#keepaliveTimer);
    this.#keepaliveTimer = setTimeout(() => this.#options.links.patience(null), 2000 * patience);
  }

  /** Returns the momentum, or none if it belongs to another model. */
  #previousMomentum({ trainable }: TrainedWork): Float32Array {
    return this.#momentum.length === trainable ? this.#momentum : new Float32Array();
  }

  #show(view: GroupView): void {
    this.#view = view;
    this.#options.changed();
  }

  #hearEarly({ round, group }: GroupOrder): void {
    for (const { client, frame } of this.#early.take(round, group)) this.receive(client, frame);
  }

  async #attested(client: string, frame: AttestFrame): Promise<void> {
    const attesting = this.#attesting;
    const certificate = await attesting?.addSignature(client, frame);
    if (attesting && attesting === this.#attesting) this.#showHolders(attesting);
    if (certificate) this.#options.certified(certificate);
  }

  #showHolders({ ending, holders }: CertificateCollector): void {
    const { order, outcome } = this.#view ?? {};
    if (!this.#view || !outcome || order?.round !== ending.round || order.group !== ending.group) return;
    this.#show({ ...this.#view, outcome: { ...outcome, holders } });
  }

  #failed(order: GroupOrder, reason: UserMessage): void {
    if (this.#view) this.#show({ ...this.#view, reason });
    const { round, group } = order;
    this.#options.ended({ type: "failed", round, group, reason: inEnglish(reason).slice(0, 500) });
  }

  async #averaged(order: GroupOrder, work: TrainedWork, outcome: GroupOutcome): Promise<void> {
    const { task, own, identity, identityOf, links, holdings } = this.#options;
    const { round, group, members, subject } = order;
    const { mean, survivors, fraction, seconds } = outcome;
    // When changes are averaged all members have the same base, so their results are equal bit by bit.
    const renewed = subject === "changes" ? sum(work.base, mean) : mean;
    const content: Bytes = new Uint8Array(renewed.buffer);
    const weights = await holdings.keep(content);
    const clients = survivors.map((place) => members[place] as string);
    const keys = new Map<string, Uint8Array>();
    for (const client of clients) {
      const key = identityOf(client);
      if (key !== null) keys.set(client, key);
    }
    const ending = { bundle: work.bundle, run: work.run, round, group, survivors: clients, weights };
    this.#attesting = new CertificateCollector(task, ending, keys, order.least);
    const attest = await this.#attesting.sign(own, identity);
    for (const client of clients) if (client !== own) links.send(client, attest);
    const { holders } = this.#attesting;
    if (this.#view) this.#show({ ...this.#view, outcome: { survivors, fraction, seconds, holders } });
    const { signature } = attest;
    const report = { round, group, weights, survivors, fraction, seconds, signature };
    this.#options.ended({ type: "averaged", ...report });
    this.#hearEarly(order);
  }
}
