/**
 * Ops of two or three tensors of different shapes, for which TF.js' own broadcasting is incorrect or limited to four
 * dimensions.
 */

import {
  add,
  atan2,
  div,
  divNoNan,
  equal,
  floor,
  floorDiv,
  greater,
  greaterEqual,
  less,
  lessEqual,
  logicalAnd,
  logicalOr,
  maximum,
  minimum,
  mod,
  mul,
  notEqual,
  pow,
  reshape,
  squaredDifference,
  sub,
  type Tensor,
  where,
} from "@tensorflow/tfjs-core";
import { constant } from "../constant-inputs";
import { hasKernel, runKernel } from "./attributes";
import { repeat } from "./axes";
import { type Family, input, type Op, requireChannelsLast } from "./types";

type Binary = (x: Tensor, y: Tensor) => Tensor;

/** Beyond this number of dimensions the GPU backends of TF.js 4.22 read wrong elements, or refuse. */
const SAFE_RANK = 4;

function padShape(shape: readonly number[], rank: number): number[] {
  return [...new Array<number>(rank - shape.length).fill(1), ...shape];
}

/** Returns the shape that all the given shapes broadcast to. */
export function commonShape(...shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  const padded = shapes.map((shape) => padShape(shape, rank));
  return Array.from({ length: rank }, (_, axis) => {
    const sizes = padded.map((shape) => shape[axis] as number).filter((size) => size !== 1);
    if (sizes.some((size) => size !== sizes[0])) {
      throw new Error(`The graph is damaged: shapes ${shapes.map(String).join(" and ")} don't fit together.`);
    }
    return sizes[0] ?? 1;
  });
}

/**
 * Returns two shapes with fewer axes that broadcast alike: neighbouring axes that both tensors have, or that only one
 * has, are contiguous in memory and are merged.
 */
function collapse(x: readonly number[], y: readonly number[]): [number[], number[]] {
  const [a, b]: [number[], number[]] = [[], []];
  let last = "";
  x.forEach((size, axis) => {
    const other = y[axis] as number;
    if (size === 1 && other === 1) return;
    const kind = size === other ? "both" : size === 1 ? "second" : "first";
    if (kind === last) {
      a.push((a.pop() as number) * size);
      b.push((b.pop() as number) * other);
    } else {
      a.push(size);
      b.push(other);
    }
    last = kind;
  });
  return [a, b];
}

/** Wraps a binary op with correct broadcasting for every rank. */
export function broadcasting(run: Binary): Binary {
  return (x, y) => {
    if (Math.max(x.rank, y.rank) <= SAFE_RANK) return run(x, y);
    const shape = commonShape(x.shape, y.shape);
    const [a, b] = collapse(padShape(x.shape, shape.length), padShape(y.shape, shape.length));
    if (a.length <= SAFE_RANK) return reshape(run(reshape(x, a), reshape(y, b)), shape);
    const whole = (tensor: Tensor) => reshape(spread(tensor, shape), [-1]);
    return reshape(run(whole(x), whole(y)), shape);
  };
}

function binary(run: Binary): Op {
  const right = broadcasting(run);
  return (node) => right(input(node, 0), input(node, 1));
}

/** Broadcasts x to `shape`. TF.js 4.22 uses Tile, whose GPU kernels support up to four or five axes. */
export function spread(x: Tensor, shape: readonly number[]): Tensor {
  const padded = padShape(x.shape, shape.length);
  return repeat(
    reshape(x, padded),
    shape.map((length, axis) => (padded[axis] === 1 ? length : 1)),
  );
}

/** A kernel like Select of operands of different shapes, which TF.js would repeat before. */
export const BROADCAST_SELECT = "_MingaSelect";

/** Selects `chosen` where the condition is true, `other` elsewhere; all three broadcast. */
export function select(condition: Tensor, chosen: Tensor, other: Tensor): Tensor {
  const shape = commonShape(condition.shape, chosen.shape, other.shape);
  const alike = condition.dtype === "bool" && chosen.dtype === other.dtype && chosen.dtype !== "bool";
  if (alike && shape.length <= SAFE_RANK && hasKernel(BROADCAST_SELECT)) {
    return runKernel(BROADCAST_SELECT, { condition, t: chosen, e: other }, {});
  }
  if (shape.length <= SAFE_RANK) return where(condition, chosen, other);
  const whole = (tensor: Tensor) => reshape(spread(tensor, shape), [-1]);
  return reshape(where(whole(condition), whole(chosen), whole(other)), shape);
}

/** TensorFlow's first Select: a vector of conditions selects rows; TF.js would align it with the last axis. */
function selectRows(condition: Tensor, chosen: Tensor, other: Tensor): Tensor {
  const trailing = condition.rank === 1 ? chosen.rank - 1 : 0;
  const rows = reshape(condition, [...condition.shape, ...new Array<number>(trailing).fill(1)]);
  return select(rows, chosen, other);
}

/** TF.js labels every result of floorDiv an integer. */
const floorDivision: Binary = (x, y) => (x.dtype === "int32" ? floorDiv(x, y) : floor(div(x, y)));

/** Adds channels' biases. The WebGPU kernel of TF.js 4.22 reads wrong ones for five axes. */
function biasAdd(node: Parameters<Op>[0]): Tensor {
  requireChannelsLast(node);
  return broadcasting(add)(input(node, 0), input(node, 1));
}

export const broadcast: Family = {
  BiasAdd: biasAdd,
  BroadcastTo: (node) => spread(input(node, 0), constant(node.inputs[1])),
  Add: binary(add),
  AddV2: binary(add),
  Sub: binary(sub),
  Mul: binary(mul),
  RealDiv: binary(div),
  DivNoNan: binary(divNoNan),
  FloorDiv: binary(floorDivision),
  FloorMod: binary(mod),
  Maximum: binary(maximum),
  Minimum: binary(minimum),
  Pow: binary(pow),
  SquaredDifference: binary(squaredDifference),
  Equal: binary(equal),
  NotEqual: binary(notEqual),
  Less: binary(less),
  LessEqual: binary(lessEqual),
  Greater: binary(greater),
  GreaterEqual: binary(greaterEqual),
  LogicalAnd: binary(logicalAnd),
  LogicalOr: binary(logicalOr),
  Atan2: binary(atan2),
  Select: (node) => selectRows(input(node, 0), input(node, 1), input(node, 2)),
  SelectV2: (node) => select(input(node, 0), input(node, 1), input(node, 2)),
};
