/** Ops that reduce an axis or run along one. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import {
  addN,
  argMax,
  argMin,
  cast,
  cumprod,
  cumsum,
  equal,
  getBackend,
  greater,
  greaterEqual,
  lessEqual,
  max,
  mean,
  min,
  mul,
  prod,
  range,
  reshape,
  sum,
  type Tensor,
  type Tensor3D,
  where,
} from "@tensorflow/tfjs-core";
import { constant } from "../constant-inputs";
import { hasKernel, runKernel } from "./attributes";
import { alongAxis, reverseAxes, SAFE_RANK } from "./axes";
import { convert } from "./convert";
import { type Family, input, type Op, requireChannelsLast } from "./types";

/**
 * Returns the axis that constant input `index` names, counted from the front; TF.js 4.22 doesn't count all ops' axes
 * from the back.
 */
function axisOf(node: GraphNode, index: number, rank: number): number {
  const [axis = 0] = constant(node.inputs[index]);
  return axis < 0 ? axis + rank : axis;
}

type Fold = (x: Tensor, axes: number[]) => Tensor;

/** Reduces one axis after another: for tensors that the GPU backends of TF.js 4.22 reduce in no other way. */
function oneByOne(fold: Fold, x: Tensor, axes: readonly number[]): Tensor {
  return axes.reduce(
    (part, axis) =>
      alongAxis(part, axis, (rows) => reshape(fold(rows, [1]), [rows.shape[0], 1, rows.shape[2]])),
    x,
  );
}

/**
 * Reduces over constant axes. Neighbouring axes that are both reduced or both kept are merged, and axes of one
 * element are removed: the GPU backends of TF.js 4.22 reduce up to six dimensions only, and the gradient of Tile has
 * more. Its WebGPU kernel of Prod drops reduced axes even if they are kept, so they are added again.
 */
function over(fold: Fold, prepare = (x: Tensor) => x): (node: GraphNode) => Tensor {
  return (node) => {
    const x = prepare(input(node, 0));
    const axes = new Set(constant(node.inputs[1]).map((axis) => (axis < 0 ? axis + x.rank : axis)));
    const groups: { length: number; reduced: boolean }[] = [];
    x.shape.forEach((length, axis) => {
      const [last, reduced] = [groups.at(-1), axes.has(axis)];
      if (length === 1) return;
      if (last?.reduced === reduced) last.length *= length;
      else groups.push({ length, reduced });
    });
    const merged = reshape(
      x,
      groups.map(({ length }) => length),
    );
    const reduced = groups.flatMap((group, i) => (group.reduced ? [i] : []));
    const keepDims = node.attrs.keep_dims === true;
    const result = x.shape.flatMap((length, axis) => (!axes.has(axis) ? [length] : keepDims ? [1] : []));
    if (reduced.length === 0) return reshape(merged, result);
    return reshape(
      groups.length <= SAFE_RANK ? fold(merged, reduced) : oneByOne(fold, merged, reduced),
      result,
    );
  };
}

/** A WebGPU program binds at most eight buffers on any device. */
const MAX_TERMS = 7;

/**
 * Adds tensors of one shape. On WebGPU, TF.js 4.22 binds all terms together; with too many the program fails
 * silently, and the result is whatever its memory last held.
 */
export function addAll(terms: readonly Tensor[]): Tensor {
  let left = [...terms];
  if (getBackend() === "webgpu") {
    while (left.length > MAX_TERMS) left = [addN(left.slice(0, MAX_TERMS)), ...left.slice(MAX_TERMS)];
  }
  return addN(left);
}

type Reduce = (x: Tensor, axis: number, keepDims?: boolean) => Tensor;

/** Returns where the largest (or smallest) element is along axis 1, the first of equal ones. */
function firstPlace(rows: Tensor3D, extreme: Reduce): Tensor3D {
  const length = rows.shape[1];
  const places = reshape(range(0, length), [1, length, 1]);
  const positions = where(equal(rows, extreme(rows, 1, true)), places, length);
  return min(positions, 1, true);
}

/**
 * ArgMax and ArgMin. The WebGPU kernel of TF.js 4.22 compares parts of a long row in parallel and loses which of
 * equal values came first; it also leaves an axis where a vector should become a scalar.
 */
function argExtreme(direct: (x: Tensor, axis: number) => Tensor, extreme: Reduce): Op {
  return (node) => {
    const x = input(node, 0);
    const axis = axisOf(node, 1, x.rank);
    if (getBackend() !== "webgpu") return direct(x, axis);
    const places = alongAxis(convert(x, "float32"), axis, (rows) => firstPlace(rows, extreme));
    const shape = x.shape.filter((_, i) => i !== axis);
    return cast(reshape(places, shape), "int32");
  };
}

type Running = (x: Tensor, axis: number, exclusive: boolean, reverse: boolean) => Tensor;

/**
 * Cumulative sums or products. On WebGPU, TF.js 4.22 computes reverse ones incorrectly, so the tensor is reversed
 * instead.
 */
function running(run: Running): Op {
  return (node) => {
    const x = input(node, 0);
    const axis = axisOf(node, 1, x.rank);
    const exclusive = node.attrs.exclusive === true;
    const reverse = node.attrs.reverse === true;
    if (!reverse || getBackend() !== "webgpu") return run(x, axis, exclusive, reverse);
    return reverseAxes(run(reverseAxes(x, [axis]), axis, exclusive, false), [axis]);
  };
}

/**
 * Whether any (max) or all (min) elements are true. The WebGPU kernels of TF.js 4.22 mix up the elements of inner
 * axes, and read some that were never written.
 */
function truth(extreme: Fold): Op {
  const reduce = over(extreme, (x) => convert(x, "float32"));
  return (node) => greater(reduce(node), 0);
}

/** Scales every number into the bound from which the WebGL kernels of TF.js 4.22 start. */
const SCALE = 2 ** -64;
const BOUND = 1e20;

/** Max with -BOUND, Min with BOUND. On WebGL, TF.js 4.22 ignores elements below -1e20 in a maximum. */
function extremeOf(fold: Fold, bound: number): Fold {
  return (x, axes) => {
    const result = fold(x, axes);
    if (getBackend() !== "webgl" || x.dtype !== "float32") return result;
    const beyond = bound < 0 ? lessEqual(result, bound) : greaterEqual(result, bound);
    return where(beyond, mul(fold(mul(x, SCALE), axes), 1 / SCALE), result);
  };
}

export const reduction: Family = {
  AddN: (node) => addAll(node.inputs),
  All: truth(min),
  Any: truth(max),
  ArgMax: argExtreme(argMax, max),
  ArgMin: argExtreme(argMin, min),
  BiasAddGrad: (node) => {
    requireChannelsLast(node);
    const dy = input(node, 0);
    if (hasKernel("BiasAddGrad")) return runKernel("BiasAddGrad", { dy }, {});
    return sum(
      dy,
      dy.shape.slice(0, -1).map((_, axis) => axis),
    );
  },
  Cumprod: running(cumprod),
  Cumsum: running(cumsum),
  Max: over(extremeOf(max, -BOUND)),
  Mean: over(mean),
  Min: over(extremeOf(min, BOUND)),
  Prod: over(prod),
  Sum: over(sum),
};
