/**
 * One group's averaging at this peer: performs the effects of the machine in protocol/allreduce/member.ts. Owns the
 * machine, and the transfers to and from other members; the averaging worker has the bytes. The twin is
 * backend/peer/mesh/exchange.py.
 */

import type { Bytes } from "../../core/crypto/bytes";
import { UnfitMember } from "../../core/messages/averaging";
import { pieceSize } from "../../core/numerics/masking/masked-parts";
import { later, messageOf, UserError } from "../../core/user-messages";
import type { Effect, Event } from "../../protocol/allreduce/group-events";
import { AllReduce } from "../../protocol/allreduce/member";
import type { GroupFrame, GroupOrder } from "../../protocol/wire/mesh";
import type { AveragingWorker } from "../workers/averaging-worker";
import { type Chunk, Receiver } from "./receiver";
import { type GroupLinks, type PartContent, Sender } from "./sender";

/** The outcome of a group for a member that ends with the others. */
export interface GroupOutcome {
  readonly mean: Float32Array<ArrayBuffer>;
  /** Places of all members that have the same result. */
  readonly survivors: readonly number[];
  /** The share of all members' weight in the result. */
  readonly fraction: number;
  readonly seconds: number;
}

/** The group has no result for this member, which keeps its earlier weights. The message is for people. */
export class GroupError extends UserError {
  override readonly name = "GroupError";
}

export interface ExchangeOptions {
  readonly order: GroupOrder;
  readonly task: string;
  /** SHA-256 of the task's bundle, in hexadecimal. */
  readonly bundle: string;
  /** This peer's public id. */
  readonly own: string;
  /** The own vector; it is transferred to the worker. */
  readonly vector: Float32Array<ArrayBuffer>;
  /** The weight of the own vector in the mean. */
  readonly weight: number;
  readonly links: GroupLinks;
  /** The worker; it serves no other group until this one is closed. */
  readonly worker: AveragingWorker;
}

/** Frames of a group that the exchange handles; the averager handles the others. */
type ExchangeFrame = Exclude<GroupFrame, { readonly type: "attest" }>;

export class Exchange {
  /** Rejects with a GroupError. */
  readonly result: Promise<GroupOutcome>;
  readonly #options: ExchangeOptions;
  readonly #place: number;
  readonly #begunAt = now();
  readonly #machine: AllReduce;
  readonly #receiver = new Receiver();
  readonly #sender: Sender;
  #settle: (outcome: GroupOutcome) => void = () => undefined;
  #refuse: (problem: Error) => void = () => undefined;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #closed = false;

  /** Throws a RangeError if the order contradicts itself. */
  constructor(options: ExchangeOptions) {
    const { order, own, links } = options;
    this.#options = options;
    this.#place = order.members.indexOf(own);
    this.#machine = new AllReduce(order, this.#place, this.#begunAt);
    this.#sender = new Sender(links, order.members, own);
    this.result = new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#refuse = reject;
    });
    // A caller that does not await the result must not cause an unhandled rejection.
    this.result.catch(() => undefined);
  }

  /** Whether no member of the group needs this one any more. */
  get over(): boolean {
    const { seconds, patience } = this.#options.order;
    return this.#closed || (this.#machine.over && now() >= this.#begunAt + seconds + 2 * patience);
  }

  /** Encodes the own vector and begins. Links that exist by then are reported by `up` afterwards. */
  start(): void {
    const { vector, weight, order, task, bundle, worker } = this.#options;
    const { bounds, precision, subject, reducer, exchange, round, group } = order;
    const commit = exchange !== "ring" && precision !== "masked";
    const context = { task, bundle, round, group };
    this.#ask(async () => {
      const { buffer } = vector;
      const what = { place: this.#place, bounds, precision, subject, reducer, commit, context };
      const prepare = { type: "prepare", vector: buffer, ...what } as const;
      const { commitments, key } = await worker.ask(prepare, [buffer]);
      return { type: "prepared", weight, commitments, key };
    });
  }

  /** Takes a frame of this round and group. */
  receive(client: string, frame: ExchangeFrame): void {
    const place = this.#placeOf(client);
    if (place === null || this.#closed) return;
    if (frame.type === "piece" || frame.type === "mean") {
      if (!this.#machine.over) this.#chunk(place, frame);
    } else {
      // The key must arrive before any piece is requested.
      if (frame.type === "begin" && frame.key.length > 0) this.#keepKey(place, frame.key);
      this.#happened({ type: "heard", place, frame });
    }
  }

  /** Takes a link to this peer, or the end of its silence. */
  up(client: string): void {
    this.#reportLink("linked", client);
  }

  down(client: string): void {
    this.#sender.drop(client);
    const place = this.#placeOf(client);
    if (place !== null) this.#receiver.drop(place);
    this.#reportLink("lost", client);
  }

  /** Takes the silence of a peer for `patience` seconds. */
  silent(client: string): void {
    this.#reportLink("silent", client);
  }

  /** Ends the exchange, with or without a result. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#receiver.clear();
    this.#sender.clear();
    this.#refuse(new GroupError(later("The group was left before it ended.")));
  }

  #placeOf(client: string): number | null {
    const place = this.#options.order.members.indexOf(client);
    return place < 0 || place === this.#place ? null : place;
  }

  #reportLink(type: "linked" | "lost" | "silent", client: string): void {
    const place = this.#placeOf(client);
    if (place !== null) this.#happened({ type, place });
  }

  #happened(event: Event): void {
    if (this.#closed) return;
    for (const effect of this.#machine.happened(event, now())) this.#perform(effect);
    this.#wait();
  }

  #wait(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const due = this.#machine.timer();
    if (due === null) return;
    const milliseconds = Math.max(0, 1000 * (due - now()));
    this.#timer = setTimeout(() => this.#happened({ type: "time_passed" }), milliseconds);
  }

  /** Performs work in the worker, and reports the outcome to the machine. */
  #ask(work: () => Promise<Event>): void {
    work()
      .catch((error: unknown) => this.#unfit(error))
      .then((event) => this.#happened(event));
  }

  /** Returns the event that names the member at fault. */
  #unfit(error: unknown): Event {
    const place = error instanceof UnfitMember ? error.place : this.#place;
    return { type: "unfit", place, reason: error instanceof Error ? error.message : String(error) };
  }

  #chunk(place: number, chunk: Chunk): void {
    const { bounds, precision } = this.#options.order;
    const [from, until] = [bounds[chunk.part], bounds[chunk.part + 1]];
    if (from === undefined || until === undefined) {
      this.#happened({ type: "unfit", place, reason: `The group has no part ${chunk.part}.` });
      return;
    }
    try {
      const bytes = this.#receiver.take(place, chunk, pieceSize(until - from, precision));
      if (bytes !== null) this.#keep(place, chunk, bytes);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#happened({ type: "unfit", place, reason: error.message });
    }
  }

  #keepKey(place: number, key: Uint8Array): void {
    const { worker, order } = this.#options;
    if (order.precision === "masked")
      void worker.ask({ type: "keep_key", place, key }).catch(() => undefined);
  }

  #keep(place: number, { type, part, contributors }: Chunk, bytes: Bytes): void {
    const { worker } = this.#options;
    this.#ask(async () => {
      if (type === "piece") {
        const keep = { type: "keep_piece", place, part, contributors, bytes } as const;
        const { digest } = await worker.ask(keep, [bytes.buffer]);
        return { type: "piece_came", place, part, contributors, digest };
      }
      const { digest } = await worker.ask({ type: "keep_mean", place, part, contributors, bytes }, [
        bytes.buffer,
      ]);
      return { type: "mean_came", place, part, contributors, digest };
    });
  }

  #perform(effect: Effect): void {
    const { order, links, worker } = this.#options;
    switch (effect.type) {
      case "send":
        for (const place of effect.places) links.send(order.members[place] as string, effect.frame);
        return;
      case "send_piece": {
        const { part, place, contributors, weights } = effect;
        const make = { type: "make_piece", part, contributors, weights } as const;
        this.#queueTransfer([place], "piece", part, async () => ({
          ...(await worker.ask(make)),
          contributors,
        }));
        return;
      }
      case "add_piece": {
        const { part, source, weight, place } = effect;
        const contributors = [...effect.contributors, this.#place];
        const add = { type: "add_piece", part, source, weight } as const;
        this.#queueTransfer([place], "piece", part, async () => ({
          ...(await worker.ask(add)),
          contributors,
        }));
        return;
      }
      case "reduce":
        this.#ask(async () => {
          const { digest } = await worker.ask(effect);
          return { type: "reduced", part: effect.part, contributors: effect.contributors, digest };
        });
        return;
      case "send_mean": {
        const { part, digest, places } = effect;
        this.#queueTransfer(places, "mean", part, () => worker.ask({ type: "copy_mean", part, digest }));
        return;
      }
      case "without":
        this.#sender.drop(order.members[effect.place] as string);
        return;
      case "finish":
        void this.#finish(effect);
        return;
      case "fail":
        this.#refuse(new GroupError(effect.reason));
    }
  }

  /** Queues a transfer. Its content is made when the first of `places` is served. */
  #queueTransfer(
    places: readonly number[],
    type: Chunk["type"],
    part: number,
    make: () => Promise<{ readonly contributors: readonly number[]; readonly bytes: Bytes }>,
  ): void {
    const { members, round, group } = this.#options.order;
    let made: Promise<PartContent | null> | null = null;
    const makeContent = () => {
      made ??= make().then(
        ({ contributors, bytes }) => ({ head: { type, round, group, part, contributors }, bytes }),
        (error: unknown) => {
          this.#happened(this.#unfit(error));
          return null;
        },
      );
      return made;
    };
    for (const place of places) this.#sender.add(members[place] as string, makeContent);
  }

  async #finish({ parts, survivors, fraction }: Extract<Effect, { readonly type: "finish" }>): Promise<void> {
    try {
      const { vector } = await this.#options.worker.ask({ type: "take", parts });
      this.#settle({ mean: vector, survivors, fraction, seconds: now() - this.#begunAt });
    } catch (error) {
      this.#refuse(new GroupError(messageOf(error)));
    }
  }
}

function now(): number {
  return performance.now() / 1000;
}
