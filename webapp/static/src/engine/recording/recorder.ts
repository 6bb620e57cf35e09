/**
 * Recordings of a graph's runs. An executor looks up each op's kernel and inputs in every run, although graphs here have
 * fixed shapes: a recorded run is repeated as the same calls of kernels on the same places in memory.
 */

import { backend, type NamedTensorMap, type Tensor } from "@tensorflow/tfjs-core";

/** A run that can be repeated on other values. Owns the memory that the run took. */
export interface Recording {
  /** Whether the inputs are of the shapes and types of those recorded. */
  fits(feed: NamedTensorMap): boolean;
  /** Repeats the run on inputs that fit. The caller owns inputs and outputs. */
  replay(feed: NamedTensorMap): Tensor[];
  dispose(): void;
}

export type GraphRunner = (feed: NamedTensorMap) => Tensor[];

/** Records runs on one backend. */
export interface Recorder {
  readonly backend: object;
  /**
   * Runs a graph and returns its outputs, which the caller owns, and the recording; null if this run cannot be
   * repeated on other values.
   */
  record(
    feed: NamedTensorMap,
    run: GraphRunner,
  ): { readonly outputs: Tensor[]; readonly recording: Recording | null };
}

let recorder: Recorder | null = null;

/** Makes `next` the recorder of its backend. */
export function useRecorder(next: Recorder): void {
  recorder = next;
}

/** Returns the current backend's recorder, if it has one. */
export function currentRecorder(): Recorder | null {
  return recorder?.backend === backend() ? recorder : null;
}
