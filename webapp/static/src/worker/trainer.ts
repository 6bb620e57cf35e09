/** A participant's part of one round: steps over its examples, from a version's weights to an update. */

import { type Tensor1D, tidy } from "@tensorflow/tfjs-core";
import type { Bundle } from "../shared/bundle";
import { combine, controlChange } from "../shared/control";
import type { Plan, Sums } from "../shared/worker-messages";
import { Watch } from "./health";
import type { Feed } from "./input/feed";
import {
  type Corrections,
  disposeCorrections,
  disposeVariables,
  flatVector,
  startVariables,
  type TrainingStep,
  type Variables,
} from "./step";
import { Stride, Tally, take, yieldToMessages } from "./tally";

export interface Progress {
  readonly step: number;
  readonly steps: number;
  readonly loss: number;
  readonly stepMs: number;
}

export interface Outcome {
  /** Local minus global. */
  readonly update: Float32Array<ArrayBuffer>;
  /** Of the client's control variate, if it has one. */
  readonly change: Float32Array<ArrayBuffer> | null;
  /** Examples processed, each visit counted. */
  readonly examples: number;
  readonly steps: number;
  readonly planned: number;
  /** Mean over all examples processed. */
  readonly loss: number;
  readonly sums: Sums;
  readonly stepMs: number;
}

/** SCAFFOLD's control variates, a value for each trainable one. */
export interface Variates {
  readonly server: Float32Array;
  readonly own: Float32Array;
}

export interface Training {
  readonly bundle: Bundle;
  readonly step: TrainingStep;
  readonly weights: Float32Array<ArrayBuffer>;
  readonly plan: Plan;
  readonly variates: Variates | null;
  /** The batches; the caller owns it. */
  readonly feed: Feed;
  readonly onProgress: (progress: Progress) => void;
  /** Asked before every step, with the milliseconds that it will take; true ends the training there. */
  readonly stopped: (steps: number, stepMs: number) => boolean;
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
  return combine(local, weights, -1);
}

function correctionsOf({ bundle, step, weights, plan, variates }: Training): Promise<Corrections> {
  return step.corrections(plan.proximalMu, {
    ...(plan.proximalMu !== 0 && { start: weights.subarray(0, bundle.parameters.trainable) }),
    ...(variates && { drift: combine(variates.server, variates.own, -1) }),
  });
}

/** Runs a plan. The report of a step is read while the next one runs, so a GPU never waits for us. */
export async function train(training: Training): Promise<Outcome> {
  const corrections = await correctionsOf(training);
  try {
    return await trainWith(training, corrections);
  } finally {
    disposeCorrections(corrections);
  }
}

async function trainWith(training: Training, corrections: Corrections): Promise<Outcome> {
  const { bundle, step, plan, weights, variates, feed } = training;
  const { steps: planned } = feed;
  const watch = new Watch();
  const tally = new Tally();
  const stride = new Stride(tally);
  let variables = startVariables(bundle, weights);
  let reading: Promise<void> = Promise.resolve();
  const record = async (report: Tensor1D, count: number): Promise<void> => {
    const values = await take(watch, report);
    const loss = values[0] ?? 0;
    watch.checkNumbers([loss]);
    tally.add(values, count);
    stride.stepped();
    training.onProgress({ step: tally.steps, steps: planned, loss, stepMs: stride.meanMs });
  };

  for (let number = 1; number <= planned && !training.stopped(number - 1, stride.nextMs); number++) {
    const batch = await feed.next();
    const result = step.run(variables, batch, { ...plan, step: number }, corrections);
    variables = result.variables;
    await reading;
    reading = record(result.report, batch.examples);
    await yieldToMessages();
  }
  await reading;
  const { examples, steps, loss, sums } = tally;
  const update = await readUpdate(watch, variables, weights);
  watch.checkNumbers(update);
  const changes = variates !== null && steps > 0;
  const change = changes ? controlChange(variates.server, update, steps, plan.learningRate) : null;
  return { update, change, examples, steps, planned, loss, sums, stepMs: stride.meanMs };
}
