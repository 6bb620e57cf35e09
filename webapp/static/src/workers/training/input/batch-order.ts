/** The batches of a plan by number: what every feeder prepares, on any thread. */

import type { Bundle } from "../../../core/data/bundle";
import { type Batch, type Examples, makeBatch } from "../../../core/data/examples";
import { batches, type Walk, walkLength } from "../../../core/numerics/batches";
import { randomInputs } from "../../../core/numerics/random-inputs";

/** A batch with all inputs of a step. */
export interface PreparedBatch extends Batch {
  /** The values of the graph's random inputs. */
  readonly random: readonly Float32Array[];
}

/**
 * Returns which of `count` examples each step takes. Steps count from 1, after those that the walk skips. Keeps the
 * order of one epoch.
 */
export class BatchOrder {
  #epoch = 0;
  #rows: Uint32Array[] = [];

  constructor(
    private readonly count: number,
    private readonly walk: Walk,
  ) {}

  get steps(): number {
    return walkLength(this.walk, this.count);
  }

  /** Returns the numbers of the examples of `step`. */
  rows(step: number): Uint32Array {
    const before = (this.walk.firstStep ?? 0) + step - 1;
    const epoch = 1 + Math.floor(before / this.#perEpoch);
    if (epoch !== this.#epoch) {
      this.#rows = batches(this.walk.seed, epoch, this.count, this.walk.batchSize);
      this.#epoch = epoch;
    }
    return this.#rows[before % this.#perEpoch] as Uint32Array;
  }

  get #perEpoch(): number {
    return Math.ceil(this.count / this.walk.batchSize);
  }
}

/** Returns the batch of examples `rows`, with the random inputs of `step`. */
export function prepareBatch(
  bundle: Bundle,
  examples: Examples,
  rows: Uint32Array,
  seed: number,
  step: number,
): PreparedBatch {
  return { ...makeBatch(bundle, examples, rows), random: randomInputs(bundle, seed, step) };
}

/** Prepares batches of examples in memory by the number of their step. */
export class Preparation {
  readonly #order: BatchOrder;

  constructor(
    private readonly bundle: Bundle,
    private readonly examples: Examples,
    private readonly walk: Walk,
  ) {
    this.#order = new BatchOrder(examples.count, walk);
  }

  get steps(): number {
    return this.#order.steps;
  }

  prepare(step: number): PreparedBatch {
    return prepareBatch(this.bundle, this.examples, this.#order.rows(step), this.walk.seed, step);
  }
}
