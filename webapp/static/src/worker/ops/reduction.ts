/** Ops that shrink an axis or run along one. */

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
  max,
  mean,
  min,
  prod,
  range,
  reshape,
  sum,
  type Tensor,
  type Tensor3D,
  where,
} from "@tensorflow/tfjs-core";
import { constant } from "../constants";
import { hasKernel, runKernel } from "./attributes";
import { alongAxis, reverseAxes } from "./axes";
import { type Family, input, type Op, requireChannelsLast } from "./family";

/** The axis that constant input `index` names, counted from the front; TF.js 4.22 doesn't count all ops' axes from the back. */
function axisOf(node: GraphNode, index: number, rank: number): number {
  const [axis = 0] = constant(node.inputs[index]);
  return axis < 0 ? axis + rank : axis;
}

/**
 * A reduction over constant axes. Neighbouring axes that are both reduced or both kept become one: the WebGL backend of
 * TF.js 4.22 reduces up to six dimensions only, and the gradient of Tile has more. Its WebGPU kernel of Prod forgets to
 * keep reduced axes, so they are put back here.
 */
function over(reduce: (x: Tensor, axes: number[]) => Tensor): Op {
  return (node) => {
    const x = input(node, 0);
    const axes = new Set(constant(node.inputs[1]).map((axis) => (axis < 0 ? axis + x.rank : axis)));
    const shape: number[] = [];
    const reduced: number[] = [];
    x.shape.forEach((length, axis) => {
      if (axis > 0 && axes.has(axis) === axes.has(axis - 1)) shape.push((shape.pop() as number) * length);
      else if (shape.push(length) && axes.has(axis)) reduced.push(shape.length - 1);
    });
    const kept = node.attrs.keep_dims === true;
    const result = x.shape.flatMap((length, axis) => (!axes.has(axis) ? [length] : kept ? [1] : []));
    return reshape(reduced.length === 0 ? x : reduce(reshape(x, shape), reduced), result);
  };
}

/** A WebGPU program binds eight buffers in all on any device. */
const MAX_TERMS = 7;

/**
 * Sum of tensors of one shape. On WebGPU, TF.js 4.22 binds all terms at once; where that is too many the program fails
 * without a word, and the result is what its memory last held.
 */
export function addAll(terms: readonly Tensor[]): Tensor {
  let left = [...terms];
  if (getBackend() === "webgpu") {
    while (left.length > MAX_TERMS) left = [addN(left.slice(0, MAX_TERMS)), ...left.slice(MAX_TERMS)];
  }
  return addN(left);
}

type Reduce = (x: Tensor, axis: number, keepDims?: boolean) => Tensor;

/** Where the largest (or smallest) element lies along axis 1, the first of equal ones. */
function firstPlace(rows: Tensor3D, extreme: Reduce): Tensor3D {
  const length = rows.shape[1];
  const places = reshape(range(0, length), [1, length, 1]);
  const found = where(equal(rows, extreme(rows, 1, true)), places, length);
  return min(found, 1, true);
}

/**
 * ArgMax and ArgMin. The WebGPU kernel of TF.js 4.22 compares parts of a long row in parallel and forgets which of equal
 * values came first; it also leaves an axis where a vector should become a scalar.
 */
function argExtreme(direct: (x: Tensor, axis: number) => Tensor, extreme: Reduce): Op {
  return (node) => {
    const x = input(node, 0);
    const axis = axisOf(node, 1, x.rank);
    if (getBackend() !== "webgpu") return direct(x, axis);
    const places = alongAxis(x, axis, (rows) => firstPlace(rows, extreme));
    const shape = x.shape.filter((_, i) => i !== axis);
    return cast(reshape(places, shape), "int32");
  };
}

type Running = (x: Tensor, axis: number, exclusive: boolean, reverse: boolean) => Tensor;

/** Running sums or products. On WebGPU, TF.js 4.22 gets those from the back wrong: there the tensor is turned instead. */
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

export const reduction: Family = {
  AddN: (node) => addAll(node.inputs),
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
  Max: over(max),
  Mean: over(mean),
  Min: over(min),
  Prod: over(prod),
  Sum: over(sum),
};
