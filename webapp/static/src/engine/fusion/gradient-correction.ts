/**
 * Adds a plan's corrections of the gradient to the graph `apply`: on GPUs they run in the same program as the
 * optimizer, and a plan without corrections runs the unchanged graph.
 */

import type { NamedTensor, Signature } from "../../core/data/bundle";
import type { NodeDef } from "./nodes";

/** Additional inputs of a corrected `apply`: `start` for FedProx, `drift` for SCAFFOLD. */
export type Correction = "start" | "drift";

/** The graph's inputs of that meaning; `mu` is FedProx's factor. */
export const CORRECTION_INPUTS = {
  start: "correction/start",
  drift: "correction/drift",
  mu: "correction/mu",
} as const;

const shaped = (shape: readonly number[]) => ({ dim: shape.map((size) => ({ size })) });

function placeholder(name: string, shape: readonly number[]): NodeDef {
  return { name, op: "Placeholder", attr: { dtype: { type: "DT_FLOAT" }, shape: { shape: shaped(shape) } } };
}

function node(name: string, op: string, input: readonly string[], size: number): NodeDef {
  const shape = [shaped([size])];
  return { name, op, input, attr: { T: { type: "DT_FLOAT" }, _output_shapes: { list: { shape } } } };
}

/** `gradient + mu * (trainable - start) + drift`, as far as `corrections` ask for it; the last node is the sum. */
function correctedGradient(size: number, corrections: readonly Correction[]): NodeDef[] {
  const nodes: NodeDef[] = [];
  if (corrections.includes("start")) {
    nodes.push(
      placeholder(CORRECTION_INPUTS.start, [size]),
      placeholder(CORRECTION_INPUTS.mu, []),
      node("correction/way", "Sub", ["trainable", CORRECTION_INPUTS.start], size),
      node("correction/pull", "Mul", ["correction/way", CORRECTION_INPUTS.mu], size),
      node("correction/proximal", "AddV2", ["gradient", "correction/pull"], size),
    );
  }
  if (corrections.includes("drift")) {
    const gradient = nodes.at(-1)?.name ?? "gradient";
    nodes.push(
      placeholder(CORRECTION_INPUTS.drift, [size]),
      node("correction/drifted", "AddV2", [gradient, CORRECTION_INPUTS.drift], size),
    );
  }
  return nodes;
}

/** The nodes of `apply` for a vector of `size` values, with its gradient corrected. */
export function correctNodes(
  nodes: readonly NodeDef[],
  size: number,
  corrections: readonly Correction[],
): readonly NodeDef[] {
  if (corrections.length === 0) return nodes;
  const added = correctedGradient(size, corrections);
  const sum = added.at(-1)?.name ?? "gradient";
  const rewired = nodes.map((one) => ({
    ...one,
    input: (one.input ?? []).map((name) => (/^gradient(:0)?$/.test(name) ? sum : name)),
  }));
  return [...rewired, ...added];
}

/** The signature of the corrected `apply`. */
export function correctSignature(
  { inputs, outputs }: Signature,
  size: number,
  corrections: readonly Correction[],
): Signature {
  const input = (name: string, shape: readonly number[]): NamedTensor => ({
    name,
    tensor: name,
    shape,
    dtype: "float32",
  });
  const tensors = corrections.map((correction) => input(CORRECTION_INPUTS[correction], [size]));
  const scalars = corrections.includes("start") ? [input(CORRECTION_INPUTS.mu, [])] : [];
  return { inputs: [...inputs, ...tensors, ...scalars], outputs };
}
