/**
 * The outer step of DiLoCo (Douillard et al. 2023), by each peer for itself, before the mean is made: linear in the change, so
 * that the mean of the peers' ways is the step of the mean change. `backend/numerics/aggregation/outer_step.py` is the twin;
 * tests/contract/vectors/outer.json binds both within rounding, as each peer goes its own way.
 */

import type { Outer } from "../../../protocol/wire/mesh";

const { fround } = Math;

export interface OuterStepResult {
  /** float32 [P]. */
  readonly way: Float32Array<ArrayBuffer>;
  /** float32 [trainable]; empty where the step remembers nothing. */
  readonly memory: Float32Array<ArrayBuffer>;
}

/**
 * What a peer brings to the mean of `change` [P], the way that local training took. `memory` is what the step before left,
 * empty before the first. The values from `trainable` on are statistics and go as they are.
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

/** `a` and `b`, value by value, in float32. */
export function sum(a: Float32Array, b: Float32Array): Float32Array<ArrayBuffer> {
  return Float32Array.from(a, (value, i) => value + at(b, i));
}

function at(vector: Float32Array, i: number): number {
  return vector[i] as number;
}
