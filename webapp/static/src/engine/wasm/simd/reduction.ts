/** Sums and means on the compiled kernels, which reduce any axis in place: TF.js 4.22 transposes the tensor first. */

import { type TensorInfo, util } from "@tensorflow/tfjs-core";
import { inputOf, type KernelCall, type WasmBackend, type WasmKernel } from "../heap";
import { Machine } from "./kernel-module";

/** Neighbouring axes that are reduced or kept together, as one. */
interface Run {
  size: number;
  readonly reduced: boolean;
}

function runs(shape: readonly number[], axes: readonly number[]): Run[] {
  const runs: Run[] = [];
  shape.forEach((size, axis) => {
    if (size === 1) return;
    const reduced = axes.includes(axis);
    const last = runs.at(-1);
    if (last?.reduced === reduced) last.size *= size;
    else runs.push({ size, reduced });
  });
  return runs;
}

const product = (list: readonly Run[]) => list.reduce((size, run) => size * run.size, 1);

/** Columns that the kernel adds up at a time. */
const CHUNK = 8;

/** Adds up the run at `index` of x, laid out as `list`; the others are kept. */
function sumRun(
  machine: Machine,
  backend: WasmBackend,
  x: TensorInfo,
  list: readonly Run[],
  index: number,
  scale: number,
): TensorInfo {
  const [outer, inner] = [product(list.slice(0, index)), product(list.slice(index + 1))];
  const middle = list[index]?.size ?? 1;
  const out = backend.makeOutput([outer * inner], "float32");
  const at = (tensor: TensorInfo) => Machine.address(backend, tensor);
  const parts = inner === 1 ? outer : outer * Math.ceil(inner / CHUNK);
  machine.run("sumMiddle", parts, (outer * middle * inner) / 4, [at(x), at(out), middle, inner, scale]);
  return out;
}

/** Replaces Sum, and Mean if `mean`; other types than float32 go to `original`. */
export function reduction(mean: boolean): (machine: Machine, original: WasmKernel) => WasmKernel {
  return (machine, original) => (call: KernelCall) => {
    const { backend, attrs } = call;
    const x = inputOf(call, "x");
    const { axis, keepDims } = attrs as { axis: number | number[]; keepDims?: boolean };
    if (x.dtype !== "float32" || util.sizeFromShape(x.shape) === 0) return original(call);
    const axes = util.parseAxisParam(axis, x.shape);
    const keptShape = x.shape.map((size, i) => (axes.includes(i) ? 1 : size));
    const shape = keepDims ? keptShape : x.shape.filter((_, i) => !axes.includes(i));
    const scale = mean ? util.sizeFromShape(keptShape) / util.sizeFromShape(x.shape) : 1;
    let list = runs(x.shape, axes);
    if (!list.some((run) => run.reduced)) list = [...list, { size: 1, reduced: true }];
    let result = x;
    // From the innermost run outwards; the last one scales.
    while (list.some((run) => run.reduced)) {
      const index = list.map((run) => run.reduced).lastIndexOf(true);
      const rest = list.filter((_, i) => i !== index);
      const last = !rest.some((run) => run.reduced);
      const next = sumRun(machine, backend, result, list, index, last ? scale : 1);
      if (result !== x) backend.disposeData(result.dataId);
      result = next;
      list = rest;
    }
    return { ...result, shape };
  };
}

/** Sum over all axes but the last. */
export function biasAddGrad(machine: Machine): WasmKernel {
  return (call: KernelCall) => {
    const dy = inputOf(call, "dy");
    const channels = dy.shape.at(-1) as number;
    const list = [
      { size: util.sizeFromShape(dy.shape.slice(0, -1)), reduced: true },
      { size: channels, reduced: false },
    ];
    return { ...sumRun(machine, call.backend, dy, list, 0, 1), shape: [channels] };
  };
}
