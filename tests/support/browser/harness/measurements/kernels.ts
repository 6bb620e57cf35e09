/**
 * Where a step's time goes: each kernel's own milliseconds, without those of kernels that it calls. Of all calls of a
 * kernel with the same shapes the fastest counts: on a busy machine the others measure the machine.
 */

import {
  getKernelsForBackend,
  type KernelFunc,
  registerKernel,
  unregisterKernel,
} from "@tensorflow/tfjs-core";
import {
  disposeVariables,
  startVariables,
  TrainingStep,
} from "../../../../../webapp/static/src/workers/training/step";
import { fetchFloats, openFolder, prepare } from "../files";
import { noiseBatch, type Wanted } from "./speed";

interface Spent {
  readonly kernel: string;
  /** Shapes of inputs, to tell a layer from another. */
  readonly shapes: string;
  calls: number;
  fastest: number;
}

/** Replaces each kernel of a backend by one that counts into `table`. */
function meter(backend: string, table: Map<string, Spent>): void {
  /** Milliseconds of inner kernels, for each kernel that is running. */
  const inner: number[] = [];
  for (const config of getKernelsForBackend(backend)) {
    const { kernelFunc, kernelName } = config;
    const metered: KernelFunc = (call) => {
      inner.push(0);
      const begin = performance.now();
      const result = kernelFunc(call);
      const spent = performance.now() - begin;
      const own = spent - (inner.pop() ?? 0);
      if (inner.length > 0) inner.push((inner.pop() as number) + spent);
      const shapes = Object.values(call.inputs)
        .map((tensor) => (tensor === undefined ? "-" : `[${tensor.shape}]`))
        .join(" ");
      const key = `${kernelName} ${shapes}`;
      const row = table.get(key) ?? { kernel: kernelName, shapes, calls: 0, fastest: own };
      row.calls += 1;
      row.fastest = Math.min(row.fastest, own);
      table.set(key, row);
      return result;
    };
    unregisterKernel(kernelName, backend);
    registerKernel({ ...config, kernelFunc: metered });
  }
}

/** Milliseconds and calls a step for each kernel and shape, the dearest first; `step` is the fastest whole step. */
export async function kernelTimes({ base, backend, steps, ...options }: Wanted) {
  await prepare(backend, options);
  const source = await openFolder(base);
  const step = await TrainingStep.load(source);
  const batch = noiseBatch(source.bundle);
  let variables = startVariables(source.bundle, await fetchFloats(`${base}/weights.bin`));
  const table = new Map<string, Spent>();
  meter(backend, table);
  let fastest = Number.POSITIVE_INFINITY;
  const warm = 30;
  for (let number = 1; number <= steps + warm; number++) {
    if (number === warm + 1) table.clear();
    const begin = performance.now();
    const result = step.run(variables, batch, { step: number, pastSteps: 0, learningRate: 0.001 });
    variables = result.variables;
    await result.report.data();
    if (number > warm) fastest = Math.min(fastest, performance.now() - begin);
    result.report.dispose();
  }
  disposeVariables(variables);
  step.dispose();
  const rows = [...table.values()].map(({ kernel, shapes, calls, fastest }) => {
    return { kernel, shapes, calls: calls / steps, ms: (fastest * calls) / steps };
  });
  return { step: fastest, kernels: rows.sort((a, b) => b.ms - a.ms) };
}
