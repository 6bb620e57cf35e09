/** Computes one tensor of a training step from its inputs: a referee between two traces. */

import { dispose, type Tensor, tensor } from "@tensorflow/tfjs-core";
import type { TracedValue } from "../../../core/messages/tracing";
import { computeNode } from "../../../engine/single-node";
import type { TrainingStep } from "../step";
import { hashOf, readValue } from "./tensor-hash";

const ARRAYS = { float32: Float32Array, int32: Int32Array, bool: Uint8Array };

function tensorOf({ dtype, shape, bytes }: TracedValue): Tensor {
  // Views of numbers begin at multiples of their size.
  return tensor(new ARRAYS[dtype](bytes.slice().buffer), [...shape], dtype);
}

/** Returns the hash of a tensor by its name in a trace, computed from the inputs that the trace gave. */
export async function computeHash(
  step: TrainingStep,
  name: string,
  inputs: readonly TracedValue[],
): Promise<string> {
  const [, graph, node, index] = /^(train|apply)\/(.*?)(?::(\d+))?$/.exec(name) ?? [];
  if (graph === undefined || node === undefined) throw new Error(`${name} is no op of a training step.`);
  const values = inputs.map(tensorOf);
  const output = await computeNode(
    step.traceable[graph as "train" | "apply"],
    node,
    Number(index ?? 0),
    values,
  ).finally(() => dispose(values));
  const value = readValue(name, output);
  dispose(output);
  return hashOf(value);
}
