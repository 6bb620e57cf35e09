/** The values that a training step changes, on the backend. */

import type { Tensor } from "@tensorflow/tfjs-core";

/** The values that a step changes. Their owner disposes them. */
export interface Variables {
  /** The flat vector, or the model's separate variables. */
  readonly trainable: Tensor | Parts;
  /** Non-trainable values; absent if the model has none. */
  readonly state?: Tensor;
  /** The optimizer's values, in the form of `trainable`; absent for plain sgd. */
  readonly slots?: Tensor | readonly Parts[];
}

/** One number for each element of the trainable vector, in the shapes of the model's variables. */
export type Parts = readonly Tensor[];
