/** What one training step costs, in milliseconds. */

import type { Backend } from "../../../../../webapp/static/src/core/backend";
import type { Bundle, TensorSpec } from "../../../../../webapp/static/src/core/data/bundle";
import { uniform } from "../../../../../webapp/static/src/core/numerics/philox";
import { randomInputs } from "../../../../../webapp/static/src/core/numerics/random-inputs";
import type { StartOptions } from "../../../../../webapp/static/src/engine/backends";
import type { PreparedBatch } from "../../../../../webapp/static/src/workers/training/input/batch-order";
import { startVariables, TrainingStep } from "../../../../../webapp/static/src/workers/training/step";
import type { Variables } from "../../../../../webapp/static/src/workers/training/variables";
import { fetchFloats, openFolder, prepare } from "../files";
import { bytesTaken } from "./backend-memory";

export interface Wanted extends StartOptions {
  readonly base: string;
  readonly backend: Backend;
  readonly steps: number;
}

/** Noise of the right shapes; labels are class 0. */
export function noiseBatch(bundle: Bundle): PreparedBatch {
  const size = bundle.batch_size;
  const values = ({ shape, dtype }: TensorSpec) => {
    const count = shape.reduce((product, length) => product * length, size);
    return dtype === "int32" ? new Int32Array(count) : uniform(1, 1, 0, count);
  };
  const sampleWeight = new Float32Array(size).fill(1);
  return {
    x: bundle.inputs.map(values),
    y: bundle.labels.map(values),
    sampleWeight,
    examples: size,
    random: randomInputs(bundle, 1, 1),
  };
}

/** A model whose shaders are compiled and whose caches are full. */
interface Running {
  readonly bundle: Bundle;
  readonly batch: PreparedBatch;
  readonly step: TrainingStep;
  variables: Variables;
  number: number;
}

const WARM_UP = 2;
/** Models by what was wanted; turns of a comparison go on where the last one ended. */
const running = new Map<string, Running>();

/** Milliseconds of one step, which ends when its loss is here. */
async function timeStep(model: Running): Promise<number> {
  const begin = performance.now();
  const moment = { step: ++model.number, pastSteps: 0, learningRate: 0.001 };
  const { variables, report } = model.step.run(model.variables, model.batch, moment);
  model.variables = variables;
  await report.data();
  const spent = performance.now() - begin;
  report.dispose();
  return spent;
}

async function start({ base, backend, steps: _, ...options }: Wanted): Promise<Running> {
  await prepare(backend, options);
  const source = await openFolder(base);
  const weights = await fetchFloats(`${base}/weights.bin`);
  const model: Running = {
    bundle: source.bundle,
    batch: noiseBatch(source.bundle),
    step: await TrainingStep.load(source),
    variables: startVariables(source.bundle, weights),
    number: 0,
  };
  for (let i = 0; i < WARM_UP; i++) await timeStep(model);
  return model;
}

/** Milliseconds of each of `steps` more steps, and the bytes that the backend has taken. */
export async function stepTimes(wanted: Wanted) {
  const key = `${wanted.backend} ${wanted.base}`;
  const model = running.get(key) ?? (await start(wanted));
  running.set(key, model);
  const times: number[] = [];
  for (let i = 0; i < wanted.steps; i++) times.push(await timeStep(model));
  return { times, bytes: bytesTaken() };
}
