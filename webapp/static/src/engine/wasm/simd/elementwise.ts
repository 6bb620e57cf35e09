/** Elementwise functions of one and of two tensors on the compiled kernels. */

import { backend_util, type TensorInfo, util } from "@tensorflow/tfjs-core";
import { inputOf, type KernelCall, type WasmKernel } from "../heap";
import { Machine } from "./kernel-module";

/** TF.js' kernels in the order of the numbers that ../../kernels/map.ts gives to its functions. */
export const UNARY = [
  ...["Abs", "Neg", "Square", "Sqrt", "Rsqrt", "Reciprocal"],
  ...["Exp", "Tanh", "Sigmoid", "Erf", "Relu", "Relu6"],
] as const;
export const BINARY = [
  ...["Add", "Sub", "Multiply", "RealDiv", "Maximum", "Minimum", "SquaredDifference", "ReluGrad"],
] as const;

/** Elements processed in about the time of a product's step: memory is slower than arithmetic. */
const LANES = 4;
const COSTLY: ReadonlySet<string | undefined> = new Set(["Exp", "Tanh", "Sigmoid", "Erf"]);

/** Function `op` of each element; other types than float32 go to `original`. */
export function unary(op: number): (machine: Machine, original: WasmKernel) => WasmKernel {
  return (machine, original) => (call: KernelCall) => {
    const x = inputOf(call, "x");
    if (x.dtype !== "float32") return original(call);
    const out = call.backend.makeOutput(x.shape, "float32");
    const at = (tensor: TensorInfo) => Machine.address(call.backend, tensor);
    const size = util.sizeFromShape(x.shape);
    machine.run("map", size, (size / LANES) * (COSTLY.has(UNARY[op]) ? 8 : 1), [op, at(x), at(out)]);
    return out;
  };
}

/** One axis of a result: how far apart its elements lie in the operands, in elements. */
interface Axis {
  size: number;
  a: number;
  b: number;
}

/** The axes of a broadcast, neighbours merged where they lie together in both operands. */
export function broadcastAxes(a: readonly number[], b: readonly number[], out: readonly number[]): Axis[] {
  const axes: Axis[] = [];
  let [stepA, stepB] = [1, 1];
  for (let i = 1; i <= out.length; i++) {
    const size = out.at(-i) as number;
    const [sizeA, sizeB] = [a.at(-i) ?? 1, b.at(-i) ?? 1];
    if (size === 1) continue;
    const axis = {
      size,
      a: i <= a.length && sizeA > 1 ? stepA : 0,
      b: i <= b.length && sizeB > 1 ? stepB : 0,
    };
    stepA *= i <= a.length ? sizeA : 1;
    stepB *= i <= b.length ? sizeB : 1;
    const inner = axes[0];
    if (inner && axis.a === inner.a * inner.size && axis.b === inner.b * inner.size) inner.size *= size;
    else axes.unshift(axis);
  }
  return axes;
}

const AXES = 4;

/** Function `op` of two tensors that broadcast; rare cases go to `original`. */
export function binary(
  op: number,
  names: readonly [string, string] = ["a", "b"],
): (machine: Machine, original: WasmKernel) => WasmKernel {
  return (machine, original) => (call: KernelCall) => {
    const [a, b] = [inputOf(call, names[0]), inputOf(call, names[1])];
    if (a.dtype !== "float32" || b.dtype !== "float32") return original(call);
    const shape = backend_util.assertAndGetBroadcastShape(a.shape, b.shape);
    const axes = broadcastAxes(a.shape, b.shape, shape);
    if (axes.length > AXES) return original(call);
    while (axes.length < AXES) axes.unshift({ size: 1, a: 0, b: 0 });
    const out = call.backend.makeOutput(shape, "float32");
    const rows = axes.slice(0, -1).reduce((product, { size }) => product * size, 1);
    const at = (tensor: TensorInfo) => Machine.address(call.backend, tensor);
    const plan = machine.integers([
      ...axes.map(({ size }) => size),
      ...axes.map((axis) => 4 * axis.a),
      ...axes.map((axis) => 4 * axis.b),
    ]);
    // A single row is divided by its elements.
    const parts = rows === 1 ? (axes.at(-1) as Axis).size : rows;
    const size = util.sizeFromShape(shape);
    machine.run("combine", size === 0 ? 0 : parts, size / LANES, [op, at(a), at(b), at(out), plan]);
    return out;
  };
}

/** Elements of t or e by a condition of the same shape. */
export function select(machine: Machine, original: WasmKernel): WasmKernel {
  return (call: KernelCall) => {
    const [condition, t, e] = [inputOf(call, "condition"), inputOf(call, "t"), inputOf(call, "e")];
    const alike = util.arraysEqual(condition.shape, t.shape) && util.arraysEqual(t.shape, e.shape);
    if (!alike || t.dtype === "bool") return original(call);
    const out = call.backend.makeOutput(t.shape, t.dtype);
    const at = (tensor: TensorInfo) => Machine.address(call.backend, tensor);
    const size = util.sizeFromShape(t.shape);
    machine.run("choose", size, size / LANES, [at(condition), at(t), at(e), at(out)]);
    return out;
  };
}
