/** Trains for one round: steps over a participant's examples, from a version's weights to an update. */

import { type Tensor1D, tidy } from "@tensorflow/tfjs-core";
import { sha256, toHex } from "../../core/crypto/bytes";
import type { Bundle } from "../../core/data/bundle";
import type { MetricTotals, TrainingPlan, TrainingState } from "../../core/messages/training";
import { elastic } from "../../core/numerics/aggregation/elastic";
import { checkpointSteps } from "../../core/numerics/checkpoints";
import { combine, controlChange } from "../../core/numerics/scaffold";
import { later } from "../../core/user-messages";
import { HealthWatch } from "../../engine/backend-health";
import type { Feed } from "./input/feed";
import { MetricSums, ReportInterval, take, yieldToMessages } from "./metric-sums";
import { boundOf } from "./private-step";
import type { StateSaver } from "./state-saver";
import {
  type Corrections,
  disposeCorrections,
  disposeVariables,
  flatSlots,
  flatVector,
  startVariables,
  type TrainingStep,
} from "./step";
import type { Tracer } from "./tracing/tracer";
import type { Variables } from "./variables";

export interface StepProgress {
  readonly step: number;
  readonly steps: number;
  readonly loss: number;
  readonly stepMs: number;
}

export interface TrainingOutcome {
  /** Local minus global. */
  readonly update: Float32Array<ArrayBuffer>;
  /** Null for a round's plan. */
  readonly local: Float32Array<ArrayBuffer> | null;
  /** The change of the client's control variate, if it has one. */
  readonly change: Float32Array<ArrayBuffer> | null;
  /** Examples processed; each pass counts. */
  readonly examples: number;
  readonly steps: number;
  readonly planned: number;
  /** Mean over all examples processed. */
  readonly loss: number;
  readonly sums: MetricTotals;
  readonly stepMs: number;
  /** Of a unit: the SHA-256 of the weights after the steps done of `checkpointSteps`; else none. */
  readonly checkpoints: readonly string[];
}

/** SCAFFOLD's control variates, a value for each trainable one. */
export interface VariateChange {
  readonly server: Float32Array;
  readonly own: Float32Array;
}

export interface TrainingOptions {
  readonly bundle: Bundle;
  readonly step: TrainingStep;
  readonly weights: Float32Array<ArrayBuffer>;
  readonly plan: TrainingPlan;
  readonly variates: VariateChange | null;
  /** The batches; the caller owns it. */
  readonly feed: Feed;
  /** Set for a training that is traced. */
  readonly tracer?: Tracer | undefined;
  /** Set for a training that saves its state. */
  readonly saver?: StateSaver | undefined;
  readonly onProgress: (progress: StepProgress) => void;
  /** Called before every step, with the milliseconds that it will take; true ends the training. */
  readonly stopped: (steps: number, stepMs: number) => boolean;
}

/** Reads the local weights in one transfer. Disposes the variables. */
function readLocal(watch: HealthWatch, variables: Variables): Promise<Float32Array> {
  const vector = tidy(() => flatVector(variables));
  disposeVariables(variables);
  return take(watch, vector);
}

/** Hashes the weights after a step, as the server addresses weights, while later steps run. */
async function checkpointOf(watch: HealthWatch, variables: Variables): Promise<string> {
  const values = await take(
    watch,
    tidy(() => flatVector(variables)),
  );
  return toHex(
    await sha256(Uint8Array.from(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))),
  );
}

/** Returns the initial weights. Throws an Error for people if the client's own weights are those of another model. */
function initialWeights({ plan: { unit }, weights }: TrainingOptions): Float32Array {
  const start = unit?.start;
  if (!start) return weights;
  const own = new Float32Array(start.own);
  if (own.length !== weights.length)
    throw new Error(later("The model is another one by now; reload the page."));
  return elastic(own, weights, start.elasticity);
}

/** Reads the state after the steps in `tally`. */
async function stateOf(
  watch: HealthWatch,
  variables: Variables,
  tally: MetricSums,
  hashes: readonly Promise<string>[],
): Promise<TrainingState> {
  const read = async (vector: Tensor1D) => Float32Array.from(await take(watch, vector)).buffer;
  const { slots } = variables;
  return {
    steps: tally.steps,
    weights: await read(tidy(() => flatVector(variables))),
    slots: slots ? await read(tidy(() => flatSlots(slots))) : new ArrayBuffer(0),
    totals: tally.totals.buffer,
    hashes: await Promise.all(hashes),
  };
}

function correctionsOf({ bundle, step, weights, plan, variates }: TrainingOptions): Promise<Corrections> {
  return step.corrections(plan.proximalMu, {
    ...(plan.proximalMu !== 0 && { start: weights.subarray(0, bundle.parameters.trainable) }),
    ...(variates && { drift: combine(variates.server, variates.own, -1) }),
  });
}

/** Runs a plan. A step's report is read while the next step runs, so that the GPU never waits. */
export async function train(training: TrainingOptions): Promise<TrainingOutcome> {
  const corrections = await correctionsOf(training);
  try {
    return await trainWith(training, corrections);
  } finally {
    disposeCorrections(corrections);
  }
}

async function trainWith(training: TrainingOptions, corrections: Corrections): Promise<TrainingOutcome> {
  const { bundle, step, plan, weights, variates, feed, tracer } = training;
  const { steps: planned } = feed;
  const watch = new HealthWatch();
  const bound = plan.privacy && boundOf(plan.privacy, plan.batchSize);
  const { saver } = training;
  const saved = saver?.start ?? null;
  const tally = saved ? MetricSums.from(saved) : new MetricSums();
  const stride = new ReportInterval(tally);
  const marks = new Set(plan.unit?.checkpoints ? checkpointSteps(planned) : []);
  const hashes = (saved?.hashes ?? []).map((hash) => Promise.resolve(hash));
  let variables = saved
    ? step.restore(new Float32Array(saved.weights), new Float32Array(saved.slots))
    : startVariables(bundle, initialWeights(training));
  let reading: Promise<void> = Promise.resolve();
  const record = async (report: Tensor1D, count: number): Promise<void> => {
    const values = await take(watch, report);
    const loss = values[0] ?? 0;
    watch.checkNumbers([loss]);
    tally.add(values, count);
    stride.stepped();
    training.onProgress({ step: tally.steps, steps: planned, loss, stepMs: stride.meanMs });
  };

  for (
    let number = tally.steps + 1;
    number <= planned && !training.stopped(number - 1, stride.nextMs);
    number++
  ) {
    const batch = await feed.next();
    tracer?.begin(number, variables);
    const result = step.run(variables, batch, { ...plan, step: number }, corrections, bound);
    variables = result.variables;
    if (tracer) await tracer.end(number, variables);
    if (marks.has(number)) hashes.push(checkpointOf(watch, variables));
    await reading;
    reading = record(result.report, batch.examples);
    if (saver?.isDue && number < planned) {
      await reading;
      await saver.save(() => stateOf(watch, variables, tally, hashes));
    }
    await yieldToMessages();
  }
  await reading;
  const { examples, steps, loss, sums } = tally;
  const read = await readLocal(watch, variables);
  const update = combine(read, weights, -1);
  watch.checkNumbers(update);
  const local = plan.unit && Float32Array.from(read);
  const changes = variates !== null && steps > 0;
  const change = changes ? controlChange(variates.server, update, steps, plan.learningRate) : null;
  const checkpoints = await Promise.all(hashes);
  const { meanMs: stepMs } = stride;
  return { update, local, change, examples, steps, planned, loss, sums, stepMs, checkpoints };
}
