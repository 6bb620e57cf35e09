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
export const LANES = 4;
export const COSTLY: ReadonlySet<string | undefined> = new Set(["Exp", "Tanh", "Sigmoid", "Erf"]);

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

/** One axis of a result: how far apart its elements lie in each operand, in elements. */
interface Axis {
  size: number;
  readonly steps: readonly number[];
}

/** The axes of a broadcast, neighbours merged where they lie together in all operands. */
export function broadcastAxes(shapes: readonly (readonly number[])[], out: readonly number[]): Axis[] {
  const axes: Axis[] = [];
  const strides = shapes.map(() => 1);
  for (let i = 1; i <= out.length; i++) {
    const size = out.at(-i) as number;
    if (size === 1) continue;
    const lengths = shapes.map((shape) => shape.at(-i) ?? 1);
    const steps = lengths.map((length, n) => (length > 1 ? (strides[n] as number) : 0));
    lengths.forEach((length, n) => {
      strides[n] = (strides[n] as number) * length;
    });
    const inner = axes[0];
    if (inner && steps.every((step, n) => step === (inner.steps[n] as number) * inner.size))
      inner.size *= size;
    else axes.unshift({ size, steps });
  }
  return axes;
}

/** Axes that the compiled kernels take. */
export const AXES = 4;

/** As many axes as the kernels take. */
export function padAxes(axes: readonly Axis[], operands: number): Axis[] {
  const missing = Array.from({ length: AXES - axes.length }, () => ({
    size: 1,
    steps: new Array<number>(operands).fill(0),
  }));
  return [...missing, ...axes];
}

/** Function `op` of two tensors that broadcast; rare cases go to `original`. */
export function binary(
  op: number,
  names: readonly [string, string] = ["a", "b"],
): (machine: Machine, original: WasmKernel) => WasmKernel {
  return (machine, original) => (call: KernelCall) => {
    const [a, b] = [inputOf(call, names[0]), inputOf(call, names[1])];
    if (a.dtype !== "float32" || b.dtype !== "float32") return original(call);
    const shape = backend_util.assertAndGetBroadcastShape(a.shape, b.shape);
    const merged = broadcastAxes([a.shape, b.shape], shape);
    if (merged.length > AXES) return original(call);
    const axes = padAxes(merged, 2);
    const out = call.backend.makeOutput(shape, "float32");
    const rows = axes.slice(0, -1).reduce((product, { size }) => product * size, 1);
    const at = (tensor: TensorInfo) => Machine.address(call.backend, tensor);
    const plan = machine.integers([
      ...axes.map(({ size }) => size),
      ...[0, 1].flatMap((operand) => axes.map(({ steps }) => 4 * (steps[operand] as number))),
    ]);
    // A single row is divided by its elements.
    const parts = rows === 1 ? (axes.at(-1) as Axis).size : rows;
    const size = util.sizeFromShape(shape);
    machine.run("combine", size === 0 ? 0 : parts, size / LANES, [op, at(a), at(b), at(out), plan]);
    return out;
  };
}

/** Elements of t or e by a condition; all three broadcast. */
export function select(machine: Machine, original: WasmKernel): WasmKernel {
  return (call: KernelCall) => {
    const operands = [inputOf(call, "condition"), inputOf(call, "t"), inputOf(call, "e")] as const;
    const [condition, t, e] = operands;
    const shape = [t, e].reduce(
      (common, { shape }) => backend_util.assertAndGetBroadcastShape(common, shape),
      condition.shape,
    );
    const merged = broadcastAxes(
      operands.map((operand) => operand.shape),
      shape,
    );
    if (t.dtype === "bool" || merged.length > AXES) return original(call);
    const axes = padAxes(merged, operands.length);
    const out = call.backend.makeOutput(shape, t.dtype);
    const plan = machine.integers([
      ...axes.map(({ size }) => size),
      ...[1, 4, 4].flatMap((bytes, i) => axes.map(({ steps }) => bytes * (steps[i] as number))),
    ]);
    const values = [...operands, out].map((tensor) => Machine.address(call.backend, tensor));
    const size = util.sizeFromShape(shape);
    const inner = (axes.at(-1) as Axis).size;
    const parts = size === inner ? size : size / inner;
    machine.run("choose", size === 0 ? 0 : parts, size / LANES, [...values, plan]);
    return out;
  };
}
