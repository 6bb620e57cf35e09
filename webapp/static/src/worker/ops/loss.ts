/** One-hot vectors, and cross-entropies on logits with their gradient as second output. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import {
  add,
  cast,
  exp,
  logSoftmax,
  mul,
  neg,
  oneHot,
  sub,
  sum,
  type Tensor,
  type Tensor1D,
} from "@tensorflow/tfjs-core";
import { constant } from "../constants";
import { type Family, input } from "./family";

/** Loss [B] and gradient [B, C] for labels [B, C] that sum to one. */
function crossEntropy(logits: Tensor, labels: Tensor): [Tensor, Tensor] {
  const logProbabilities = logSoftmax(logits);
  const loss = neg(sum(mul(labels, logProbabilities), -1));
  return [loss, sub(exp(logProbabilities), labels)];
}

/**
 * One row of zeros and a one for each index. The WASM backend of TF.js 4.22 writes the bits of the integer 1 into a
 * float32 result, so the rows are made of integers first.
 */
function oneHotFloats(indices: Tensor, depth: number): Tensor {
  return cast(oneHot(cast(indices as Tensor1D, "int32"), depth), "float32");
}

/** The graph's own OneHot, along the last axis. */
function oneHotOp(node: GraphNode): Tensor {
  const indices = input(node, 0);
  const [depth = 0] = constant(node.inputs[1]);
  const [on = 1] = constant(node.inputs[2]);
  const [off = 0] = constant(node.inputs[3]);
  const axis = Number(node.attrs.axis ?? -1);
  if (axis !== -1 && axis !== indices.rank) {
    throw new Error("The graph makes one-hot vectors along an inner axis; use the last one.");
  }
  const dtype = input(node, 2).dtype;
  if (dtype === "int32") return oneHot(cast(indices as Tensor1D, "int32"), depth, on, off);
  const rows = oneHotFloats(indices, depth);
  return on === 1 && off === 0 ? rows : add(mul(rows, on - off), off);
}

export const loss: Family = {
  SparseSoftmaxCrossEntropyWithLogits: (node) => {
    const logits = input(node, 0);
    const classes = logits.shape[1] as number;
    return crossEntropy(logits, oneHotFloats(input(node, 1), classes));
  },
  OneHot: oneHotOp,
  SoftmaxCrossEntropyWithLogits: (node) => crossEntropy(input(node, 0), input(node, 1)),
};
