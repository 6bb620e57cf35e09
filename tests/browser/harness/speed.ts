/** What one training step costs, in milliseconds. */

import { memory } from "@tensorflow/tfjs-core";
import type { Bundle, TensorSpec } from "../../../webapp/static/src/shared/bundle";
import { randomInputs } from "../../../webapp/static/src/shared/draws";
import { uniform } from "../../../webapp/static/src/shared/philox";
import type { Backend } from "../../../webapp/static/src/shared/worker-messages";
import type { StartOptions } from "../../../webapp/static/src/worker/backends";
import type { PreparedBatch } from "../../../webapp/static/src/worker/input/order";
import { disposeVariables, startVariables, TrainingStep } from "../../../webapp/static/src/worker/step";
import { fetchFloats, openFolder, prepare } from "./files";

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

/** Milliseconds of each of `steps` steps after two to warm up; a step ends when its loss is here. */
export async function stepTimes({ base, backend, steps, ...options }: Wanted) {
  await prepare(backend, options);
  const source = await openFolder(base);
  const step = await TrainingStep.load(source);
  const batch = noiseBatch(source.bundle);
  let variables = startVariables(source.bundle, await fetchFloats(`${base}/weights.bin`));
  const times: number[] = [];
  for (let number = 1; number <= steps + 2; number++) {
    const begin = performance.now();
    const result = step.run(variables, batch, { step: number, pastSteps: 0, learningRate: 0.001 });
    variables = result.variables;
    await result.report.data();
    times.push(performance.now() - begin);
    result.report.dispose();
  }
  disposeVariables(variables);
  step.dispose();
  return { times: times.slice(2), tensors: memory().numTensors };
}
