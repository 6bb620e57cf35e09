/** Computes what this device learned in a round, for its own curve; nothing of it is sent. */

import { metricValues } from "../../core/numerics/metrics";
import type { LoadedWorker, TrainingResult } from "../workers/training-worker";

export interface LocalMetrics {
  /** The version that the round makes. */
  readonly version: number;
  readonly steps: number;
  /** Each pass over an example counts. */
  readonly examples: number;
  /** Means over the round, during which the model changed. */
  readonly loss: number;
  /** Null if the task has no such metric. */
  readonly accuracy: number | null;
}

/** Returns the metrics of a training that began with version `version`. */
export function localMetrics(
  version: number,
  { steps, examples, loss, sums }: Pick<TrainingResult, "steps" | "examples" | "loss" | "sums">,
  { metrics }: Pick<LoadedWorker, "metrics">,
): LocalMetrics {
  const place = metrics.findIndex(({ name }) => name === "accuracy");
  const accuracy = place < 0 ? null : (metricValues(metrics, sums.flat())[place] ?? null);
  return { version: version + 1, steps, examples, loss, accuracy };
}
