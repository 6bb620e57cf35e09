/**
 * One group's average at this peer: performs what the machine in protocol/allreduce/member.ts decides. Owns the
 * machine, and what is on its way to and from other members; the averaging worker has the bytes.
 * backend/peer/mesh/exchange.py is the twin.
 */

import type { Bytes } from "../../core/crypto/bytes";
import { UnfitMember } from "../../core/messages/averaging";
import { pieceSize } from "../../core/numerics/masking/masked-parts";
import type { Effect, Event } from "../../protocol/allreduce/group-events";
import { AllReduce } from "../../protocol/allreduce/member";
import type { GroupFrame, GroupOrder } from "../../protocol/wire/mesh";
import type { AveragingWorker } from "../workers/averaging-worker";
import { type Chunk, Receiver } from "./receiver";
import { type GroupLinks, type PartContent, Sender } from "./sender";

/** What comes of a group for a member that ends with the others. */
export interface GroupOutcome {
  readonly mean: Float32Array<ArrayBuffer>;
  /** Places of all that have the same. */
  readonly survivors: readonly number[];
  /** How much of all members' weight is in it. */
  readonly fraction: number;
  readonly seconds: number;
}

/** There is no result for this member; it keeps the weights that it had. The message is for people. */
export class GroupError extends Error {
  override readonly name = "GroupError";
}

export interface ExchangeOptions {
  readonly order: GroupOrder;
  readonly task: string;
  /** SHA-256 of the task's bundle, in hexadecimal. */
  readonly bundle: string;
  /** This peer's public id. */
  readonly own: string;
  /** Is transferred to the worker. */
  readonly vector: Float32Array<ArrayBuffer>;
  /** Of the own vector in the mean. */
  readonly weight: number;
  readonly links: GroupLinks;
  /** Works for no other group until this one is closed. */
  readonly worker: AveragingWorker;
}

/** Frames of a group that are the session's business, not the exchange's. */
type ExchangeFrame = Exclude<GroupFrame, { readonly type: "attest" }>;

export class Exchange {
  /** Rejects with a GroupError. */
  readonly result: Promise<GroupOutcome>;
  readonly #options: ExchangeOptions;
  readonly #place: number;
  readonly #begunAt = now();
  readonly #machine: AllReduce;
  readonly #arrivals = new Receiver();
  readonly #departures: Sender;
  #settle: (outcome: GroupOutcome) => void = () => undefined;
  #refuse: (problem: Error) => void = () => undefined;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #closed = false;

  /** Throws a RangeError where the order contradicts itself. */
  constructor(options: ExchangeOptions) {
    const { order, own, links } = options;
    this.#options = options;
    this.#place = order.members.indexOf(own);
    this.#machine = new AllReduce(order, this.#place, this.#begunAt);
    this.#departures = new Sender(links, order.members, own);
    this.result = new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#refuse = reject;
    });
    // Who does not wait for the result need not hear that there is none.
    this.result.catch(() => undefined);
  }

  /** Nobody of the group needs this member any more. */
  get over(): boolean {
    const { seconds, patience } = this.#options.order;
    return this.#closed || (this.#machine.over && now() >= this.#begunAt + seconds + 2 * patience);
  }

  /** Encodes the own vector and begins. Links that stand by then are told by `up` afterwards. */
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

  /** A frame of this round and group. */
  receive(client: string, frame: ExchangeFrame): void {
    const place = this.#placeOf(client);
    if (place === null || this.#closed) return;
    if (frame.type === "piece" || frame.type === "mean") {
      if (!this.#machine.over) this.#chunk(place, frame);
    } else {
      // Before any piece is asked for.
      if (frame.type === "begin" && frame.key.length > 0) this.#keepKey(place, frame.key);
      this.#happened({ type: "heard", place, frame });
    }
  }

  /** There is a link to this peer, or it is heard of again. */
  up(client: string): void {
    this.#tell("linked", client);
  }

  down(client: string): void {
    this.#departures.drop(client);
    const place = this.#placeOf(client);
    if (place !== null) this.#arrivals.drop(place);
    this.#tell("lost", client);
  }

  /** Nothing came of this peer for the patience. */
  silent(client: string): void {
    this.#tell("silent", client);
  }

  /** Ends it, whatever came of it. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#arrivals.clear();
    this.#departures.clear();
    this.#refuse(new GroupError("The group was left before it ended."));
  }

  #placeOf(client: string): number | null {
    const place = this.#options.order.members.indexOf(client);
    return place < 0 || place === this.#place ? null : place;
  }

  #tell(type: "linked" | "lost" | "silent", client: string): void {
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

  /** Does what takes the worker's time, and tells the machine what came of it. */
  #ask(work: () => Promise<Event>): void {
    work()
      .catch((error: unknown) => this.#unfit(error))
      .then((event) => this.#happened(event));
  }

  /** Whose fault it is that something could not be done. */
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
      const bytes = this.#arrivals.take(place, chunk, pieceSize(until - from, precision));
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
        this.#depart([place], "piece", part, async () => ({ ...(await worker.ask(make)), contributors }));
        return;
      }
      case "add_piece": {
        const { part, source, weight, place } = effect;
        const contributors = [...effect.contributors, this.#place];
        const add = { type: "add_piece", part, source, weight } as const;
        this.#depart([place], "piece", part, async () => ({ ...(await worker.ask(add)), contributors }));
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
        this.#depart(places, "mean", part, () => worker.ask({ type: "copy_mean", part, digest }));
        return;
      }
      case "without":
        this.#departures.drop(order.members[effect.place] as string);
        return;
      case "finish":
        void this.#finish(effect);
        return;
      case "fail":
        this.#refuse(new GroupError(effect.reason));
    }
  }

  /** What is sent is made when the first of `places` has its turn. */
  #depart(
    places: readonly number[],
    type: Chunk["type"],
    part: number,
    make: () => Promise<{ readonly contributors: readonly number[]; readonly bytes: Bytes }>,
  ): void {
    const { members, round, group } = this.#options.order;
    let made: Promise<PartContent | null> | null = null;
    const parcel = () => {
      made ??= make().then(
        ({ contributors, bytes }) => ({ head: { type, round, group, part, contributors }, bytes }),
        (error: unknown) => {
          this.#happened(this.#unfit(error));
          return null;
        },
      );
      return made;
    };
    for (const place of places) this.#departures.add(members[place] as string, parcel);
  }

  async #finish({ parts, survivors, fraction }: Extract<Effect, { readonly type: "finish" }>): Promise<void> {
    try {
      const { vector } = await this.#options.worker.ask({ type: "take", parts });
      this.#settle({ mean: vector, survivors, fraction, seconds: now() - this.#begunAt });
    } catch (error) {
      this.#refuse(new GroupError(error instanceof Error ? error.message : String(error)));
    }
  }
}

function now(): number {
  return performance.now() / 1000;
}
