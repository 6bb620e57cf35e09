/** Many steps in a row: do tensors pile up, does anything read back while a step runs? */

import { backend as currentBackend, type DataId, memory, type Tensor1D } from "@tensorflow/tfjs-core";
import type { Backend } from "../../../../../webapp/static/src/core/backend";
import type { PreparedBatch } from "../../../../../webapp/static/src/workers/training/input/batch-order";
import { startVariables, TrainingStep } from "../../../../../webapp/static/src/workers/training/step";
import type { Variables } from "../../../../../webapp/static/src/workers/training/variables";
import { fetchFloats, fetchInputs, openFolder, prepare } from "../files";
import { bytesTaken } from "./backend-memory";

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

interface Running {
  readonly batches: readonly PreparedBatch[];
  readonly step: TrainingStep;
  variables: Variables;
  number: number;
}

/** Models by what was wanted: more steps go on where the last ones ended. */
const running = new Map<string, Running>();

async function start({ base, backend }: Wanted): Promise<Running> {
  await prepare(backend);
  const source = await openFolder(base);
  return {
    batches: await fetchInputs(base, source.bundle),
    step: await TrainingStep.load(source),
    variables: startVariables(source.bundle, await fetchFloats(`${base}/weights.bin`)),
    number: 0,
  };
}

/** Runs one step and reads its report. `around` runs the part in which nothing may wait for the device. */
async function runStep(model: Running, around: (work: () => void) => void): Promise<void> {
  const { batches, step } = model;
  const batch = batches[model.number % batches.length];
  if (batch === undefined) throw new Error("The reference holds no batches.");
  const moment = { step: ++model.number, pastSteps: 0, learningRate: 0.001 };
  let report: Tensor1D | undefined;
  around(() => {
    const result = step.run(model.variables, batch, moment);
    model.variables = result.variables;
    report = result.report;
  });
  await report?.data();
  report?.dispose();
}

/** Runs `steps` more steps: what is held after them, and how often a step read from the device while it ran. */
export async function steady(wanted: Wanted) {
  const key = `${wanted.backend} ${wanted.base}`;
  const model = running.get(key) ?? (await start(wanted));
  running.set(key, model);
  const instance = currentBackend();
  const readSync = instance.readSync;
  let reads = 0;
  // The asynchronous read of WASM and CPU goes through readSync too; only reads within a step count.
  const counted = (work: () => void) => {
    instance.readSync = function count(id: DataId) {
      if (waits(instance, id)) reads += 1;
      return readSync.call(this, id);
    };
    work();
    instance.readSync = readSync;
  };
  for (let i = 0; i < wanted.steps; i++) await runStep(model, counted);
  return { steps: model.number, tensors: memory().numTensors, bytes: bytesTaken(), reads };
}
