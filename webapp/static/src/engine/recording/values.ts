/** Values of a run that JavaScript computes: a recording computes them again in each run. */

import type { Tensor } from "@tensorflow/tfjs-core";

/** Numbers of the present run. */
export type Numbers = () => readonly number[];

/** What records the present run. */
export interface ValueLog {
  /** Returns a function for the value that an input has in the run that calls it; undefined if it is no input. */
  reader(scalar: Tensor): (() => number) | undefined;
  /** Writes `numbers` to the tensor in every run from now on. */
  refill(tensor: Tensor, numbers: Numbers): void;
}

let log: ValueLog | null = null;

/** Sets what records the present run; null ends it. */
export function logValues(next: ValueLog | null): void {
  log = next;
}

/** Returns a function for the values of some scalars, in this run and in its repetitions. */
export function scalarNumbers(scalars: readonly Tensor[]): Numbers {
  const readers = scalars.map((scalar) => log?.reader(scalar) ?? (() => scalar.dataSync()[0] as number));
  return () => readers.map((read) => read());
}

/** Returns `tensor`, which holds `numbers`; a recording writes those of its run. */
export function holding(tensor: Tensor, numbers: Numbers): Tensor {
  log?.refill(tensor, numbers);
  return tensor;
}
