/** The values that a training step changes, on the backend. */

import type { Tensor } from "@tensorflow/tfjs-core";

/** What a step changes. Their owner disposes them. */
export interface Variables {
  /** The flat vector, or the model's variables on their own. */
  readonly trainable: Tensor | Parts;
  /** Non-trainable values; absent if the model has none. */
  readonly state?: Tensor;
  /** The optimizer's, as `trainable` is; absent for plain sgd. */
  readonly slots?: Tensor | readonly Parts[];
}

/** Values of one number for each element of the trainable vector, as the model's variables are shaped. */
export type Parts = readonly Tensor[];
