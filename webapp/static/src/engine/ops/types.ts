/** The types of ops, and access to their inputs. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import type { Tensor } from "@tensorflow/tfjs-core";

/** Computes one node of a graph; intermediate tensors are disposed by the caller's tidy. */
export type Op = (node: GraphNode) => Tensor | Tensor[];

/** Ops by their TensorFlow name. */
export type Family = Readonly<Record<string, Op>>;

/** Input `index` of a node. */
export function input<T extends Tensor = Tensor>(node: GraphNode, index: number): T {
  const tensor = node.inputs[index];
  if (tensor === undefined) throw new Error(`The graph is damaged: an op has no input ${index}.`);
  return tensor as T;
}

/** Throws for layouts other than NHWC, the only one that the converter writes. */
export function requireChannelsLast(node: GraphNode): void {
  // The executor passes strings in lower case.
  const format = node.attrs.data_format;
  if (format !== undefined && format !== "nhwc" && format !== "") {
    throw new Error(`The graph uses data format ${String(format)}; convert the model with channels last.`);
  }
}
