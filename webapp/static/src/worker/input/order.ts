/** The batches of a plan by their number: what every feeder prepares, wherever it runs. */

import { batches } from "../../shared/batches";
import type { Bundle } from "../../shared/bundle";
import { randomInputs } from "../../shared/draws";
import { type Batch, type Examples, makeBatch } from "../../shared/preprocess";
import type { Plan } from "../../shared/worker-messages";

/** A batch with everything that a step takes from outside. */
export interface PreparedBatch extends Batch {
  /** Values of the graph's random inputs. */
  readonly random: readonly Float32Array[];
}

/** The part of a plan that decides the batches. */
export type Walk = Pick<Plan, "epochs" | "seed">;

/** Steps of a plan over `examples` examples. */
export function stepsOf(bundle: Bundle, examples: number, { epochs }: Walk): number {
  return epochs * Math.ceil(examples / bundle.batch_size);
}

/** Prepares batches by the number of their step, which counts from 1. Keeps the order of one epoch. */
export class BatchOrder {
  #epoch = 0;
  #rows: Uint32Array[] = [];

  constructor(
    private readonly bundle: Bundle,
    private readonly examples: Examples,
    private readonly walk: Walk,
  ) {}

  get steps(): number {
    return stepsOf(this.bundle, this.examples.count, this.walk);
  }

  prepare(step: number): PreparedBatch {
    const perEpoch = Math.ceil(this.examples.count / this.bundle.batch_size);
    const epoch = 1 + Math.floor((step - 1) / perEpoch);
    const { seed } = this.walk;
    if (epoch !== this.#epoch) {
      this.#rows = batches(seed, epoch, this.examples.count, this.bundle.batch_size);
      this.#epoch = epoch;
    }
    const rows = this.#rows[(step - 1) % perEpoch] as Uint32Array;
    return {
      ...makeBatch(this.bundle, this.examples, rows),
      random: randomInputs(this.bundle, seed, step),
    };
  }
}
