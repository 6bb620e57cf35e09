/**
 * The outer step of DiLoCo (Douillard et al. 2023), which each peer takes before averaging. It is linear in the
 * change, so the mean of the peers' steps is the step of the mean change. The twin is
 * backend/numerics/aggregation/outer_step.py; tests/contract/vectors/outer.json tests that both compute the same bits.
 */

import type { Outer } from "../../../protocol/wire/mesh";

const { fround } = Math;

export interface OuterStepResult {
  /** float32 [P]. */
  readonly way: Float32Array<ArrayBuffer>;
  /** The new momentum, float32 [trainable]; empty for steps without momentum. */
  readonly memory: Float32Array<ArrayBuffer>;
}

/**
 * Returns the vector that a peer adds to the mean, from `change` [P], the result of its local training. `memory` is
 * the previous step's, empty before the first. Values from `trainable` on are statistics and are not changed.
 */
export function outerStep(
  { kind, learning_rate, momentum }: Outer,
  change: Float32Array,
  trainable: number,
  memory: Float32Array,
): OuterStepResult {
  const [rate, mu] = [fround(learning_rate), fround(momentum)];
  const way = new Float32Array(change);
  if (kind === "fedavg") {
    for (let i = 0; i < trainable; i++) way[i] = rate * at(change, i);
    return { way, memory: new Float32Array() };
  }
  const after = new Float32Array(trainable);
  for (let i = 0; i < trainable; i++) {
    const moved = at(change, i);
    const past = memory.length > 0 ? at(memory, i) : 0;
    const now = fround(fround(mu * past) + moved);
    after[i] = now;
    way[i] = rate * (kind === "nesterov" ? fround(fround(mu * now) + moved) : now);
  }
  return { way, memory: after };
}

/** Adds `a` and `b`, value by value, in float32. */
export function sum(a: Float32Array, b: Float32Array): Float32Array<ArrayBuffer> {
  return Float32Array.from(a, (value, i) => value + at(b, i));
}

function at(vector: Float32Array, i: number): number {
  return vector[i] as number;
}
