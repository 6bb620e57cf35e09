/** The source of a training's batches: prepared on this thread, or ahead of time by a pool of workers. */

import type { Bundle } from "../../../core/data/bundle";
import type { ExampleColumn, Examples } from "../../../core/data/examples";
import type { Values } from "../../../core/data/shard";
import type { Walk } from "../../../core/numerics/batches";
import { UserError } from "../../../core/user-messages";
import { Preparation, type PreparedBatch } from "./batch-order";
import type { FromFeeder, ToFeeder } from "./messages";

export interface Feed {
  readonly steps: number;
  /** Returns the batch of the next step, from the first on. */
  next(): Promise<PreparedBatch>;
  /** Ends the feed; unfinished batches are dropped. */
  close(): void;
}

/** Preparation in milliseconds that costs as much as a message to a worker and back. */
const WORTH_MS = 1;
const MAX_FEEDERS = 2;

/** Returns the number of feeders: one core in four, as the others train or are needed by the device's user. */
export function feederCount(cores: number, shared: boolean): number {
  // Without shared memory every feeder would hold a copy of the examples.
  return shared ? Math.max(1, Math.min(Math.floor(cores / 4), MAX_FEEDERS)) : 1;
}

class DirectFeed implements Feed {
  #step: number;

  constructor(
    private readonly preparation: Preparation,
    begun: number,
  ) {
    this.#step = begun;
  }

  get steps(): number {
    return this.preparation.steps;
  }

  async next(): Promise<PreparedBatch> {
    this.#step += 1;
    return this.preparation.prepare(this.#step);
  }

  close(): void {}
}

/** A batch that is being prepared. */
class WaitingBatch {
  resolve!: (batch: PreparedBatch) => void;
  reject!: (problem: Error) => void;
  readonly promise = new Promise<PreparedBatch>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}

/** Gives its feeders batches in turn, two each ahead of time. */
class PooledFeed implements Feed {
  readonly #feeders: Worker[];
  readonly #waiting = new Map<number, WaitingBatch>();
  #asked: number;
  #given: number;

  constructor(
    readonly steps: number,
    count: number,
    open: Extract<ToFeeder, { type: "open" }>,
    begun: number,
  ) {
    this.#asked = this.#given = begun;
    this.#feeders = Array.from({ length: count }, () => this.#start(open));
    for (let n = 0; n < 2 * count; n++) this.#ask();
  }

  async next(): Promise<PreparedBatch> {
    this.#given += 1;
    const step = this.#given;
    const batch = await this.#waiting.get(step)?.promise;
    this.#waiting.delete(step);
    this.#ask();
    if (batch === undefined) throw new Error("A batch beyond the plan's last was asked for.");
    return batch;
  }

  close(): void {
    for (const feeder of this.#feeders) feeder.terminate();
    this.#waiting.clear();
  }

  #start(open: ToFeeder): Worker {
    const feeder = new Worker(new URL("./feeder.ts", import.meta.url), { type: "module" });
    feeder.onmessage = ({ data }: MessageEvent<FromFeeder>) => {
      const waiting = this.#waiting.get(data.step);
      if ("problem" in data) waiting?.reject(new UserError(data.problem));
      else waiting?.resolve(data.batch);
    };
    feeder.onerror = ({ message }) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`A feeder failed: ${message}`));
    };
    feeder.postMessage(open);
    return feeder;
  }

  #ask(): void {
    if (this.#asked >= this.steps) return;
    this.#asked += 1;
    const step = this.#asked;
    const waiting = new WaitingBatch();
    // A feeder can fail before its batch is requested; the request gets the error.
    waiting.promise.catch(() => undefined);
    this.#waiting.set(step, waiting);
    this.#feeders[step % this.#feeders.length]?.postMessage({ type: "prepare", step } satisfies ToFeeder);
  }
}

function shareValues<V extends Values>(values: V): V {
  const shared = new (values.constructor as new (buffer: SharedArrayBuffer) => V)(
    new SharedArrayBuffer(values.byteLength),
  );
  shared.set(values as never);
  return shared;
}

/** Copies the examples to memory that workers share. */
function share({ count, x, y, sampleWeight }: Examples): Examples {
  const column = ({ values, width }: ExampleColumn) => ({ values: shareValues(values), width });
  return { count, x: x.map(column), y: y.map(column), sampleWeight: shareValues(sampleWeight) };
}

/** Returns the milliseconds for a batch; the first one also compiles the code and orders the epoch. */
function preparationMs(preparation: Preparation): number {
  preparation.prepare(1);
  const begin = performance.now();
  preparation.prepare(1);
  return performance.now() - begin;
}

/**
 * Opens a feed for the plan's steps after the first `begun`; `feeders` is the number of workers, null lets the time of
 * the first batch decide.
 */
export function openFeed(
  bundle: Bundle,
  examples: Examples,
  walk: Walk,
  feeders: number | null,
  begun = 0,
): Feed {
  const preparation = new Preparation(bundle, examples, walk);
  const worth = feeders === null && preparationMs(preparation) > WORTH_MS;
  const shared = globalThis.crossOriginIsolated === true;
  const count = worth ? feederCount(navigator.hardwareConcurrency, shared) : (feeders ?? 0);
  if (count === 0 || typeof Worker === "undefined") return new DirectFeed(preparation, begun);
  const { seed, epochs, steps, batchSize, firstStep } = walk;
  const open = {
    type: "open",
    bundle,
    examples: shared ? share(examples) : examples,
    walk: { seed, epochs, steps, batchSize, ...(firstStep && { firstStep }) },
  } as const;
  return new PooledFeed(preparation.steps, shared ? count : 1, open, begun);
}
