/** Where a training takes its batches from: prepared here, or ahead of time by a pool of workers. */

import type { Bundle } from "../../../core/data/bundle";
import type { ExampleColumn, Examples } from "../../../core/data/examples";
import type { Values } from "../../../core/data/shard";
import type { Walk } from "../../../core/numerics/batches";
import { Preparation, type PreparedBatch } from "./batch-order";
import type { FromFeeder, ToFeeder } from "./messages";

export interface Feed {
  readonly steps: number;
  /** The batch of the next step, from the first on. */
  next(): Promise<PreparedBatch>;
  /** Ends it; batches under way are dropped. */
  close(): void;
}

/** A message to a worker and back costs about as much as preparing for so many milliseconds. */
const WORTH_MS = 1;
const MAX_FEEDERS = 2;

/** One core in four prepares: the others train, or belong to whoever lends the device. */
export function feederCount(cores: number, shared: boolean): number {
  // Without shared memory every feeder would hold a copy of the examples.
  return shared ? Math.max(1, Math.min(Math.floor(cores / 4), MAX_FEEDERS)) : 1;
}

class DirectFeed implements Feed {
  #step = 0;

  constructor(private readonly preparation: Preparation) {}

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

/** Asks its feeders in turn, two batches ahead each. */
class PooledFeed implements Feed {
  readonly #feeders: Worker[];
  readonly #waiting = new Map<number, WaitingBatch>();
  #asked = 0;
  #given = 0;

  constructor(
    readonly steps: number,
    count: number,
    open: Extract<ToFeeder, { type: "open" }>,
  ) {
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
      if ("problem" in data) waiting?.reject(new Error(data.problem));
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
    // Nobody may be waiting yet when a feeder fails; whoever asks for the batch will hear of it.
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

/** The same examples in memory that workers share. */
function share({ count, x, y, sampleWeight }: Examples): Examples {
  const column = ({ values, width }: ExampleColumn) => ({ values: shareValues(values), width });
  return { count, x: x.map(column), y: y.map(column), sampleWeight: shareValues(sampleWeight) };
}

/** Milliseconds for a batch; the first also compiles the code and orders the epoch. */
function preparationMs(preparation: Preparation): number {
  preparation.prepare(1);
  const begin = performance.now();
  preparation.prepare(1);
  return performance.now() - begin;
}

/** A feed for the plan; `feeders` is how many workers prepare, null lets the first batch decide. */
export function openFeed(bundle: Bundle, examples: Examples, walk: Walk, feeders: number | null): Feed {
  const preparation = new Preparation(bundle, examples, walk);
  const worth = feeders === null && preparationMs(preparation) > WORTH_MS;
  const shared = globalThis.crossOriginIsolated === true;
  const count = worth ? feederCount(navigator.hardwareConcurrency, shared) : (feeders ?? 0);
  if (count === 0 || typeof Worker === "undefined") return new DirectFeed(preparation);
  const { seed, epochs, steps, batchSize } = walk;
  return new PooledFeed(preparation.steps, shared ? count : 1, {
    type: "open",
    bundle,
    examples: shared ? share(examples) : examples,
    walk: { seed, epochs, steps, batchSize },
  });
}
