/** Softmax, one-hot vectors, and cross-entropies on logits with their gradient as second output. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import {
  add,
  argMax,
  cast,
  exp,
  getBackend,
  logSoftmax,
  maximum,
  mul,
  neg,
  OneHot,
  softmax,
  sub,
  sum,
  type Tensor,
  transpose,
} from "@tensorflow/tfjs-core";
import { constant } from "../constant-inputs";
import { runKernel } from "./attributes";
import { convert, type NumberKind } from "./convert";
import { type Family, input } from "./types";

/**
 * TF.js 4.22 looks for the largest value of a row from -1e20 on on WebGL, and on WebGPU from a number just above the
 * lowest one: the softmax of a row that is masked altogether, with values below that, would be 0 / 0.
 */
const LOWEST = -1e20;

function bounded(logits: Tensor): Tensor {
  return getBackend().startsWith("webg") ? maximum(logits, LOWEST) : logits;
}

/**
 * Loss [B] and gradient [B, C], the probabilities minus the labels [B, C]; `top` has a one at each row's largest label.
 *
 * There the probability minus one is what the others add up to. Subtracting would leave only rounding, once a model is
 * sure, and each backend rounds otherwise; Adam then takes whole steps by it. The twin is
 * backend/peer/training/cross_entropy_gradient.py.
 */
function crossEntropy(logits: Tensor, labels: Tensor, top: Tensor): [Tensor, Tensor] {
  const logProbabilities = logSoftmax(bounded(logits));
  const loss = neg(sum(mul(labels, logProbabilities), -1));
  const others = mul(exp(logProbabilities), sub(1, top));
  const gradient = sub(others, mul(top, sum(others, -1, true)));
  return [loss, labels === top ? gradient : add(gradient, sub(top, labels))];
}

function classesOf(logits: Tensor): number {
  return logits.shape[1] as number;
}

/**
 * Returns one row for each index: `on` at the index, `off` elsewhere. Core's own function refuses rows of one
 * element.
 */
function rowsOf(indices: Tensor, depth: number, onValue: number, offValue: number): Tensor {
  const attrs = { depth, onValue, offValue, dtype: "int32" };
  return runKernel(OneHot, { indices: cast(indices, "int32") }, attrs);
}

/**
 * Returns one row of zeros and a one for each index. The WASM backend of TF.js 4.22 writes the bits of the integer 1
 * into a float32 result, so the rows are made of integers first.
 */
export function oneHotFloats(indices: Tensor, depth: number): Tensor {
  return convert(rowsOf(indices, depth, 1, 0), "float32");
}

/** The graph's own OneHot; TF.js knows the last axis only. */
function oneHotOp(node: GraphNode): Tensor {
  const indices = input(node, 0);
  const [depth = 0] = constant(node.inputs[1]);
  const [on = 1] = constant(node.inputs[2]);
  const [off = 0] = constant(node.inputs[3]);
  const rows = oneHotRows(indices, depth, on, off, input(node, 2).dtype as NumberKind);
  const axis = Number(node.attrs.axis ?? -1);
  if (axis === -1 || axis === indices.rank) return rows;
  const order = indices.shape.map((_, i) => i);
  order.splice(axis, 0, indices.rank);
  return transpose(rows, order);
}

function oneHotRows(indices: Tensor, depth: number, on: number, off: number, dtype: NumberKind): Tensor {
  if (dtype !== "float32") return convert(rowsOf(indices, depth, on, off), dtype);
  const rows = oneHotFloats(indices, depth);
  return on === 1 && off === 0 ? rows : add(mul(rows, on - off), off);
}

export const loss: Family = {
  Softmax: (node) => softmax(bounded(input(node, 0))),
  LogSoftmax: (node) => logSoftmax(bounded(input(node, 0))),
  SparseSoftmaxCrossEntropyWithLogits: (node) => {
    const logits = input(node, 0);
    const labels = oneHotFloats(input(node, 1), classesOf(logits));
    return crossEntropy(logits, labels, labels);
  },
  OneHot: oneHotOp,
  SoftmaxCrossEntropyWithLogits: (node) => {
    const [logits, labels] = [input(node, 0), input(node, 1)];
    return crossEntropy(logits, labels, oneHotFloats(argMax(labels, -1), classesOf(logits)));
  },
};
