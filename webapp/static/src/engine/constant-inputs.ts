/**
 * Caches small constants of a graph. Shapes, axes and the like are constant input tensors of ops, and TF.js' executor
 * reads them back from the backend on every step. Each read may stall the GPU, so they are read once, when the graph
 * is loaded.
 */

import type { GraphModel } from "@tensorflow/tfjs-converter";
import { scalar, type Tensor } from "@tensorflow/tfjs-core";

/** The longest constant that is cached; no shape, axis or padding is longer. */
const MAX_PINNED = 256;

const pinned = new WeakSet<Tensor>();

/** Keeps a copy of the model's small constants in JavaScript; `dataSync` on them costs nothing from now on. */
export function pinConstants(model: GraphModel): void {
  for (const tensors of Object.values(model.weights)) {
    for (const tensor of tensors) {
      if (tensor.size <= MAX_PINNED) remember(tensor, tensor.dataSync());
    }
  }
}

function remember(tensor: Tensor, values: Float32Array | Int32Array | Uint8Array): void {
  Object.defineProperty(tensor, "dataSync", { value: () => values });
  pinned.add(tensor);
}

/** A scalar whose value JavaScript keeps, so that reading it costs nothing. */
export function pinnedScalar(value: number): Tensor {
  const tensor = scalar(value);
  remember(tensor, Float32Array.of(value));
  return tensor;
}

/** Whether JavaScript keeps the tensor's values. */
export function isPinned(tensor: Tensor): boolean {
  return pinned.has(tensor);
}

/** Values of an op's input that must be a constant of the graph. */
export function constant(tensor: Tensor | undefined): number[] {
  if (tensor === undefined || !pinned.has(tensor)) {
    throw new Error("The graph computes a shape while it runs; convert the model again with fixed shapes.");
  }
  return Array.from(tensor.dataSync());
}
