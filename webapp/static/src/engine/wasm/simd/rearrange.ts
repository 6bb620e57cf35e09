/**
 * Transposes and repeats on the compiled kernel. That of TF.js 4.22 for Tile goes element by element through indices.
 */

import { type TensorInfo, util } from "@tensorflow/tfjs-core";
import { inputOf, type KernelCall, type WasmBackend, type WasmKernel } from "../heap";
import { Machine } from "./kernel-module";

/** One axis of the result: how far apart its elements lie in the source, in elements. */
interface RearrangeAxis {
  size: number;
  step: number;
}

const AXES = 6;

/** Axes without those of one element, neighbours merged that lie together in the source. */
function merged(axes: readonly RearrangeAxis[]): RearrangeAxis[] {
  const merged: RearrangeAxis[] = [];
  for (const { size, step } of axes) {
    if (size === 1) continue;
    const outer = merged.at(-1);
    if (outer && outer.step === step * size) Object.assign(outer, { size: outer.size * size, step });
    else merged.push({ size, step });
  }
  return merged;
}

/** Returns a tensor in another order; null if it has too many axes. */
function rearranged(
  machine: Machine,
  backend: WasmBackend,
  x: TensorInfo,
  shape: number[],
  axes: readonly RearrangeAxis[],
): TensorInfo | null {
  const plan = merged(axes);
  if (plan.length > AXES || x.dtype === "bool") return null;
  while (plan.length < AXES) plan.unshift({ size: 1, step: 0 });
  const out = backend.makeOutput(shape, x.dtype);
  const numbers = [...plan.map(({ size }) => size), ...plan.map(({ step }) => 4 * step)];
  const planes = plan.slice(0, -2).reduce((product, { size }) => product * size, 1);
  const at = (tensor: TensorInfo) => Machine.address(backend, tensor);
  const size = util.sizeFromShape(shape);
  machine.run("rearrange", size === 0 ? 0 : planes, size / 4, [at(x), at(out), machine.integers(numbers)]);
  return out;
}

const strides = (shape: number[]) => [...util.computeStrides(shape), 1];

/** The same values under another shape; the memory is shared, as in TF.js' Reshape. */
export function shared(backend: WasmBackend, x: TensorInfo, shape: number[]): TensorInfo {
  backend.incRef(x.dataId);
  return { dataId: x.dataId, shape, dtype: x.dtype };
}

/** Shares the memory; that of TF.js copies. */
export function identity(): WasmKernel {
  return (call: KernelCall) => {
    const x = inputOf(call, "x");
    return shared(call.backend, x, x.shape);
  };
}

export function transpose(machine: Machine, original: WasmKernel): WasmKernel {
  return (call: KernelCall) => {
    const { backend, attrs } = call;
    const x = inputOf(call, "x");
    const perm = attrs.perm as number[];
    const steps = strides(x.shape);
    const shape = perm.map((axis) => x.shape[axis] as number);
    const axes = perm.map((axis) => ({ size: x.shape[axis] as number, step: steps[axis] as number }));
    if (merged(axes).length <= 1) return shared(backend, x, shape);
    return rearranged(machine, backend, x, shape, axes) ?? original(call);
  };
}

export function tile(machine: Machine, original: WasmKernel): WasmKernel {
  return (call: KernelCall) => {
    const { backend, attrs } = call;
    const x = inputOf(call, "x");
    const reps = attrs.reps as number[];
    const steps = strides(x.shape);
    const shape = x.shape.map((size, axis) => size * (reps[axis] as number));
    const axes = x.shape.flatMap((size, axis) => [
      { size: reps[axis] as number, step: 0 },
      { size, step: steps[axis] as number },
    ]);
    return rearranged(machine, backend, x, shape, axes) ?? original(call);
  };
}
