/** Computes what this device learned in each epoch, over all of the epoch's units. */

import { type LocalMetrics, localMetrics } from "../session/local-metrics";
import type { LoadedWorker, TrainingResult } from "../workers/training-worker";

/** Collects the metrics by epoch; an epoch makes one version of the model. */
export class EpochMetrics {
  #epoch = 0;
  #sums: readonly (readonly [number, number])[] = [];
  #steps = 0;
  #examples = 0;
  #loss = 0;

  /** Adds a trained unit of `epoch`; returns the metrics of the epoch so far. */
  add(epoch: number, { steps, examples, loss, sums }: TrainingResult, loaded: LoadedWorker): LocalMetrics {
    if (epoch !== this.#epoch) {
      [this.#epoch, this.#steps, this.#examples, this.#loss] = [epoch, 0, 0, 0];
      this.#sums = sums.map(() => [0, 0]);
    }
    const all = this.#examples + examples;
    this.#loss += all > 0 ? ((loss - this.#loss) * examples) / all : 0;
    this.#examples = all;
    this.#steps += steps;
    this.#sums = this.#sums.map(([above, below], i) => {
      const [more, of] = sums[i] ?? [0, 0];
      return [above + more, below + of];
    });
    const { steps: allSteps, loss: mean } = { steps: this.#steps, loss: this.#loss };
    return localMetrics(epoch - 1, { steps: allSteps, examples: all, loss: mean, sums: this.#sums }, loaded);
  }
}
