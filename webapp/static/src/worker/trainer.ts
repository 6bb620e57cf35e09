/** A participant's part of one round: epochs over its examples, from a version's weights to an update. */

import { type Tensor1D, tidy } from "@tensorflow/tfjs-core";
import type { Bundle } from "../shared/bundle";
import { metricValues } from "../shared/metrics";
import type { Plan } from "../shared/worker-messages";
import { Watch } from "./health";
import type { Feed } from "./input/feed";
import { disposeVariables, flatVector, startVariables, type TrainingStep, type Variables } from "./step";

export interface Progress {
  readonly step: number;
  readonly steps: number;
  readonly loss: number;
  readonly metrics: readonly number[];
  readonly stepMs: number;
}

export interface Outcome {
  /** Local minus global. */
  readonly update: Float32Array<ArrayBuffer>;
  /** Examples processed, each epoch counted. */
  readonly examples: number;
  readonly steps: number;
  /** Mean over all examples processed. */
  readonly loss: number;
  /** A numerator and a denominator for each row of the metrics. */
  readonly sums: readonly (readonly [number, number])[];
  readonly stepMs: number;
}

export interface Training {
  readonly bundle: Bundle;
  readonly step: TrainingStep;
  readonly weights: Float32Array<ArrayBuffer>;
  readonly plan: Plan;
  /** The batches; the caller owns it. */
  readonly feed: Feed;
  readonly onProgress: (progress: Progress) => void;
  /** Asked after every step; true ends the training there. */
  readonly stopped: () => boolean;
}

/** Sums of what the steps report: the loss by examples, of each metric a numerator and a denominator. */
class Tally {
  examples = 0;
  steps = 0;
  #loss = 0;
  #pairs: number[] = [];

  add(loss: number, pairs: ArrayLike<number>, examples: number): void {
    this.examples += examples;
    this.steps += 1;
    this.#loss += loss * examples;
    this.#pairs = Array.from(pairs, (value, i) => (this.#pairs[i] ?? 0) + value);
  }

  get loss(): number {
    return this.examples > 0 ? this.#loss / this.examples : 0;
  }

  get sums(): [number, number][] {
    const rows = Math.floor(this.#pairs.length / 2);
    return Array.from({ length: rows }, (_, row) => [
      this.#pairs[2 * row] as number,
      this.#pairs[2 * row + 1] as number,
    ]);
  }
}

const channel = new MessageChannel();

/** Lets waiting messages be handled; unlike setTimeout it costs no 4 ms. */
function yieldToMessages(): Promise<void> {
  return new Promise((resolve) => {
    channel.port1.onmessage = () => resolve();
    channel.port2.postMessage(null);
  });
}

/** Reads a small tensor without blocking, and disposes it. */
async function take(watch: Watch, report: Tensor1D): Promise<Float32Array> {
  try {
    return (await watch.read(report.data())) as Float32Array;
  } finally {
    report.dispose();
  }
}

/** Local minus global in one readback. Disposes the variables. */
async function readUpdate(
  watch: Watch,
  variables: Variables,
  weights: Float32Array,
): Promise<Float32Array<ArrayBuffer>> {
  const vector = tidy(() => flatVector(variables));
  disposeVariables(variables);
  const local = await take(watch, vector);
  return Float32Array.from(local, (value, i) => value - (weights[i] as number));
}

/** Runs a plan. The report of a step is read while the next one runs, so a GPU never waits for us. */
export async function train(training: Training): Promise<Outcome> {
  const { bundle, step, plan, weights, feed } = training;
  const { steps } = feed;
  const watch = new Watch();
  const tally = new Tally();
  let variables = startVariables(bundle, weights);
  let reading: Promise<void> = Promise.resolve();
  const begin = performance.now();
  const stepMs = () => (performance.now() - begin) / Math.max(tally.steps, 1);
  const record = async (report: Tensor1D, count: number): Promise<void> => {
    const [loss = 0, ...pairs] = await take(watch, report);
    watch.checkNumbers([loss]);
    tally.add(loss, pairs, count);
    const metrics = metricValues(bundle.metrics, pairs);
    training.onProgress({ step: tally.steps, steps, loss, metrics, stepMs: stepMs() });
  };

  for (let number = 1; number <= steps && !training.stopped(); number++) {
    const batch = await feed.next();
    const result = step.run(variables, batch, { ...plan, step: number });
    variables = result.variables;
    await reading;
    reading = record(result.report, batch.examples);
    await yieldToMessages();
  }
  await reading;
  const spent = stepMs();
  const update = await readUpdate(watch, variables, weights);
  watch.checkNumbers(update);
  const { examples, steps: done, loss, sums } = tally;
  return { update, examples, steps: done, loss, sums, stepMs: spent };
}
