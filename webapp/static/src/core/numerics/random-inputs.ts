/**
 * Computes the values of a train graph's random inputs, which docs/reference/bundle.md defines for every kind of
 * participant.
 */

import type { Bundle } from "../data/bundle";
import { uniform } from "./philox";

/** Returns `random_0`, `random_1`, ... of `step` (from 1, within one round) of a plan with `seed`. */
export function randomInputs(bundle: Bundle, seed: number, step: number): Float32Array[] {
  return bundle.random.map(({ shape }, stream) => {
    const count = shape.reduce((product, length) => product * length, 1);
    return uniform(seed, step, stream, count);
  });
}
