/** Repeats the server's step of a dry run on the same batch, and reads the first shard as a client would. */

import { reshape, type Tensor, type Tensor1D, tidy } from "@tensorflow/tfjs-core";
import type { Backend } from "../../core/backend";
import type { Bundle } from "../../core/data/bundle";
import { joinShards, makeBatch } from "../../core/data/examples";
import { decodeShard } from "../../core/data/shard";
import { floats, readStep, relativeError, type StepArrays } from "../../core/data/step-file";
import type { DryRunStep, FromDryRunWorker, ToDryRunWorker } from "../../core/messages/dry-run";
import { later, messageOf, type UserMessage } from "../../core/user-messages";
import { failureOf, HealthWatch } from "../../engine/backend-health";
import { startBackend } from "../../engine/backends";
import { fetchBlob, fetchWeights } from "../downloads/blobs";
import { type BundleSource, openBundle } from "../downloads/bundles";
import type { PreparedBatch } from "../training/input/batch-order";
import { take } from "../training/metric-sums";
import { startVariables, TrainingStep } from "../training/step";

const scope = self as unknown as DedicatedWorkerGlobalScope;

/** Returns the batch of a step file, in the form of feeds. */
function batchOf(bundle: Bundle, step: StepArrays): PreparedBatch {
  const numbers = (letter: "x" | "y", count: number) =>
    Array.from({ length: count }, (_, i) => step.get(`${letter}_${i}`) ?? floats(step, `${letter}_${i}`));
  const weights = step.get("sample_weight");
  // A model without labels takes no weights.
  const sampleWeight =
    weights instanceof Float32Array ? weights : new Float32Array(bundle.batch_size).fill(1);
  return {
    x: numbers("x", bundle.inputs.length),
    y: numbers("y", bundle.labels.length),
    random: bundle.random.map(({ name }) => floats(step, name)),
    sampleWeight,
    examples: sampleWeight.reduce((count, weight) => count + (weight > 0 ? 1 : 0), 0),
  };
}

function flat(tensor: Tensor): Tensor1D {
  return reshape(tensor, [tensor.size]);
}

/** Computes loss and gradient of the batch, then times a whole step with the optimizer. */
async function takeStep(
  source: BundleSource,
  weights: Float32Array,
  expected: StepArrays,
): Promise<FromDryRunWorker> {
  const { bundle } = source;
  const step = await TrainingStep.load(source);
  const batch = batchOf(bundle, expected);
  const watch = new HealthWatch();
  const variables = startVariables(bundle, weights);
  const { loss, gradient } = tidy(() => {
    const result = step.gradient(variables, batch);
    return { loss: flat(result.loss), gradient: flat(result.gradient) };
  });
  const [measured = Number.NaN] = await take(watch, loss);
  const gradientError = relativeError(await take(watch, gradient), floats(expected, "gradient"));
  watch.checkNumbers([measured, gradientError]);
  const begin = performance.now();
  const moment = { step: 1, pastSteps: 0, learningRate: bundle.optimizer.learning_rate };
  const { report } = step.run(variables, batch, moment);
  watch.checkNumbers(await take(watch, report));
  return { type: "stepped", loss: measured, gradientError, stepMs: performance.now() - begin };
}

async function runStep(
  { base, bundle, weights, step }: DryRunStep,
  backend: Backend,
): Promise<FromDryRunWorker> {
  const source = await openBundle(base, bundle);
  const { trainable, state } = source.bundle.parameters;
  const [vector, expected] = await Promise.all([
    fetchWeights(base, weights, trainable + state),
    fetchBlob(base, step),
  ]);
  if (!(await startBackend(backend))) return { type: "absent" };
  return takeStep(source, vector, readStep(expected.buffer));
}

/** Whether the first rows of a batch differ in any value from those that the server made of the same shard. */
function hasDifferences(
  actual: PreparedBatch["x"],
  expected: PreparedBatch["x"],
  rows: number,
  size: number,
): boolean {
  return actual.some((values, i) => {
    const count = (values.length / size) * rows;
    return relativeError(values.subarray(0, count), expected[i]?.subarray(0, count) ?? []) !== 0;
  });
}

async function readData({ base, bundle, step, shard }: DryRunStep): Promise<FromDryRunWorker> {
  if (shard === null) return { type: "read", examples: 0, problem: null };
  const { bundle: manifest } = await openBundle(base, bundle);
  const [bytes, file] = await Promise.all([fetchBlob(base, shard), fetchBlob(base, step)]);
  // Throws if shapes, types or classes are not the model's.
  const examples = joinShards(manifest, [decodeShard(bytes)]);
  const size = manifest.batch_size;
  const rows = Uint32Array.from({ length: Math.min(size, examples.count) }, (_, i) => i);
  const read = makeBatch(manifest, examples, rows);
  const expected = batchOf(manifest, readStep(file.buffer));
  const differs =
    hasDifferences(read.x, expected.x, rows.length, size) ||
    hasDifferences(read.y, expected.y, rows.length, size);
  const problem = differs
    ? later(
        "This browser reads other values from the first shard than the server; please report this with the data.",
      )
    : null;
  return { type: "read", examples: examples.count, problem };
}

/** Answers one message; the page ends the worker afterwards. */
export async function receive(message: ToDryRunWorker): Promise<void> {
  const { type, step } = message;
  const answer = await (type === "data" ? readData(step) : runStep(step, message.backend)).catch(
    (error: unknown): FromDryRunWorker => ({ type: "failed", problem: explain(error) }),
  );
  scope.postMessage(answer);
}

function explain(error: unknown): UserMessage {
  return failureOf(error)?.message ?? messageOf(error);
}
