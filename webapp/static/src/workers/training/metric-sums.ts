/** Adds up the reports of steps: exact over batches, shards and clients. */

import { dispose, type Tensor1D } from "@tensorflow/tfjs-core";
import type { MetricTotals, TrainingState } from "../../core/messages/training";
import type { HealthWatch } from "../../engine/backend-health";

/** Sums of the loss by examples, and of each metric row's numerator and denominator. */
export class MetricSums {
  examples = 0;
  steps = 0;
  #loss = 0;
  #values: number[] = [];

  /** The sums after the steps of a saved state. */
  static from({ steps, totals }: Pick<TrainingState, "steps" | "totals">): MetricSums {
    const [examples = 0, loss = 0, ...values] = new Float64Array(totals);
    const sums = new MetricSums();
    sums.examples = examples;
    sums.steps = steps;
    sums.#loss = loss;
    sums.#values = values;
    return sums;
  }

  /** The sums as a saved state has them. */
  get totals(): Float64Array<ArrayBuffer> {
    return Float64Array.of(this.examples, this.#loss, ...this.#values);
  }

  /** Adds a `report`, the loss and then the pairs, of a batch with this number of examples. */
  add([loss = 0, ...values]: ArrayLike<number> & Iterable<number>, examples: number): void {
    this.examples += examples;
    this.steps += 1;
    this.#loss += loss * examples;
    this.#values = values.map((value, i) => (this.#values[i] ?? 0) + value);
  }

  /** The mean over the examples. */
  get loss(): number {
    return this.examples > 0 ? this.#loss / this.examples : 0;
  }

  get sums(): MetricTotals {
    const { length } = this.#values;
    const value = (i: number) => this.#values[i] as number;
    return Array.from({ length: length / 2 }, (_, row) => [value(2 * row), value(2 * row + 1)] as const);
  }
}

/** A message to oneself takes microseconds, but one was lost in Firefox, which left a training waiting for ever. */
const LOST_MS = 250;

let channel = new MessageChannel();

/** Lets waiting messages be handled; unlike setTimeout it costs no 4 ms. */
export function yieldToMessages(): Promise<void> {
  return new Promise((resolve) => {
    const lost = setTimeout(() => {
      channel = new MessageChannel();
      resolve();
    }, LOST_MS);
    channel.port1.onmessage = () => {
      clearTimeout(lost);
      resolve();
    };
    channel.port2.postMessage(null);
  });
}

/** Reads a small tensor without blocking, and disposes it. */
export async function take(watch: HealthWatch, report: Tensor1D): Promise<Float32Array> {
  try {
    return (await watch.read(report.data())) as Float32Array;
  } finally {
    dispose(report);
  }
}

/** Estimates the time of the next step, in milliseconds: the longer of the last and the mean. */
export class ReportInterval {
  #last = 0;
  #since = performance.now();
  readonly #begin = this.#since;
  /** The steps of an earlier worker. */
  readonly #before: number;

  constructor(private readonly tally: MetricSums) {
    this.#before = tally.steps;
  }

  /** Records the end of a step. */
  stepped(): void {
    const now = performance.now();
    this.#last = now - this.#since;
    this.#since = now;
  }

  get meanMs(): number {
    return (this.#since - this.#begin) / Math.max(this.tally.steps - this.#before, 1);
  }

  get nextMs(): number {
    return Math.max(this.#last, this.meanMs);
  }
}
