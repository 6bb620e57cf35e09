/** Averages with groups: turns what the peer trained into new weights that all survivors have. Owns the exchanges. */

import type { Bytes } from "../../core/crypto/bytes";
import { outerStep, sum } from "../../core/numerics/aggregation/outer-step";
import { messageOf } from "../../core/user-messages";
import type { Train } from "../../protocol/rounds/participant-events";
import type { GroupFrame, GroupOrder, Outer } from "../../protocol/wire/mesh";
import type { LinkManager } from "../transports/links";
import { AveragingWorker } from "../workers/averaging-worker";
import { EarlyFrames } from "./early-frames";
import { Exchange, type GroupOutcome } from "./exchange";
import type { ResultSigner } from "./result-signer";
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

export interface AveragerOptions {
  readonly task: string;
  /** This peer's public id. */
  readonly own: string;
  readonly links: LinkManager;
  readonly holdings: WeightCache;
  /** Reports how groups ended. */
  readonly results: ResultSigner;
  /** Whether this peer never joins the group of this round and number. */
  readonly declines: (round: number, group: number) => boolean;
}

export class Averager {
  readonly #options: AveragerOptions;
  readonly #worker = new AveragingWorker();
  /** The exchange of the last group: other members may ask about it after it ended here. */
  #exchange: { readonly order: GroupOrder; readonly exchange: Exchange } | null = null;
  readonly #early: EarlyFrames;
  /** The momentum of the outer step. */
  #momentum: Float32Array<ArrayBuffer> = new Float32Array();
  #keepaliveTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: AveragerOptions) {
    this.#options = options;
    const { links, declines } = options;
    this.#early = new EarlyFrames({ send: (client, frame) => links.send(client, frame), declines });
  }

  /** Takes part in the group, and reports the outcome. */
  async average(order: GroupOrder, work: TrainedWork): Promise<void> {
    const { task, own, links, results } = this.#options;
    const { bundle } = work;
    this.abort();
    this.#early.join(order);
    const { way, memory } = outerStep(work.outer, work.update, work.trainable, this.#previousMomentum(work));
    const vector = order.subject === "changes" ? way : sum(work.base, way);
    // Members of a serverless group cannot know each other's numbers of examples beforehand (0033).
    const weight = order.reducer === "mean" ? Math.min(work.examples, order.most_weight) : 1;
    links.patience(order.patience);
    results.begin(order);
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
      if (exchange === null || this.#exchange?.exchange === exchange) results.fail(order, messageOf(problem));
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
      const { results } = this.#options;
      if (results.isOf(frame)) void results.add(client, frame);
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

  #hearEarly({ round, group }: GroupOrder): void {
    for (const { client, frame } of this.#early.take(round, group)) this.receive(client, frame);
  }

  async #averaged(order: GroupOrder, work: TrainedWork, outcome: GroupOutcome): Promise<void> {
    const { holdings, results } = this.#options;
    // When changes are averaged all members have the same base, so their results are equal bit by bit.
    const renewed = order.subject === "changes" ? sum(work.base, outcome.mean) : outcome.mean;
    const content: Bytes = new Uint8Array(renewed.buffer);
    await results.sign(order, outcome, work, await holdings.keep(content));
    this.#hearEarly(order);
  }
}
