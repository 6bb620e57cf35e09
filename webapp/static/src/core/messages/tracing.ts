/**
 * The trace of a training: SHA-256 hashes of the values after its steps, and of the outputs of each op of a step. Two
 * machines that trained the same find by it the first op whose outputs differ.
 *
 * A tensor is named by its graph and node: `train/dense/MatMul`, with `:1` for a second output. `start/trainable`,
 * `start/state` and `start/slots` are the values that a step begins with. The constants of a graph are part of the
 * bundle and not traced.
 */

export interface TraceRequest {
  /** Steps, from 1 on, after which the weights and the optimizer's slots are hashed. */
  readonly states: readonly number[];
  /** Steps of which the outputs of every op are hashed. */
  readonly ops: readonly number[];
  /** The tensor whose inputs are returned as they were in a step; of an input of the graph, its value. */
  readonly inputs: { readonly step: number; readonly tensor: string } | null;
}

/** An output of a node, or an input of a graph that the data or the plan give; `inputs` are names of tensors. */
export interface TracedTensor {
  readonly tensor: string;
  readonly op: string;
  readonly inputs: readonly string[];
}

export type TracedDtype = "float32" | "int32" | "bool";

export interface TracedValue {
  readonly tensor: string;
  readonly dtype: TracedDtype;
  readonly shape: readonly number[];
  /** Little-endian; a bool takes a byte. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Hashes are hexadecimal. */
export type StateHashes = Readonly<Record<string, string>>;

export interface Trace {
  /** The traced tensors of a step, in the order in which they are computed; empty if no step's ops were traced. */
  readonly tensors: readonly TracedTensor[];
  /** The tensors that are the values after a step, by `trainable`, `state` and `slots`. */
  readonly ends: Readonly<Record<string, string>>;
  readonly states: readonly { readonly step: number; readonly hashes: StateHashes }[];
  /** The hashes in the order of `tensors`, joined. */
  readonly ops: readonly { readonly step: number; readonly hashes: string }[];
  readonly inputs: readonly TracedValue[];
}
