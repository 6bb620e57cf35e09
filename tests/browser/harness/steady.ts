/** Many steps in a row: do tensors pile up, does anything read back while a step runs? */

import { backend as currentBackend, type DataId, memory } from "@tensorflow/tfjs-core";
import type { Backend } from "../../../webapp/static/src/shared/worker-messages";
import { disposeVariables, startVariables, TrainingStep } from "../../../webapp/static/src/worker/step";
import { fetchFloats, fetchInputs, openFolder, prepare } from "./files";

interface Wanted {
  readonly base: string;
  readonly backend: Backend;
  readonly steps: number;
}

/** What WebGPU's backend keeps of a tensor; `resource` is missing while the values never left JavaScript. */
interface OnWebGpu {
  readonly tensorMap?: { get(id: DataId): { readonly resource?: unknown } | undefined };
}

/** Whether reading waits for a device. WebGPU's kernels for small constants read values that are still here. */
function waits(backend: object, id: DataId): boolean {
  const held = (backend as OnWebGpu).tensorMap?.get(id);
  return held === undefined || held.resource != null;
}

/** Tensors before and after `steps` steps, and the synchronous reads during them. */
export async function steady({ base, backend, steps }: Wanted) {
  await prepare(backend);
  const source = await openFolder(base);
  const batches = await fetchInputs(base, source.bundle);
  const step = await TrainingStep.load(source);
  let variables = startVariables(source.bundle, await fetchFloats(`${base}/weights.bin`));
  // The asynchronous read of WASM and CPU goes through readSync; only reads within a step count.
  let stepping = false;
  const run = async (number: number) => {
    const batch = batches[number % batches.length];
    if (batch === undefined) throw new Error("The reference holds no batches.");
    stepping = true;
    const result = step.run(variables, batch, { step: number, pastSteps: 0, learningRate: 0.001 });
    stepping = false;
    variables = result.variables;
    const [loss] = await result.report.data();
    result.report.dispose();
    return loss;
  };
  for (let number = 1; number <= 3; number++) await run(number);

  const instance = currentBackend();
  const readSync = instance.readSync;
  let reads = 0;
  instance.readSync = function counted(id: DataId) {
    if (stepping && waits(instance, id)) reads += 1;
    return readSync.call(this, id);
  };
  const before = memory();
  let loss: number | undefined;
  for (let number = 1; number <= steps; number++) {
    loss = await run(number);
  }
  const after = memory();
  instance.readSync = readSync;
  disposeVariables(variables);
  step.dispose();
  return { before: before.numTensors, after: after.numTensors, reads, loss };
}
