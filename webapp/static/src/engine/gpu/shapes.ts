/** Shapes as the samplers of TF.js' shaders want them. */

import type { TensorInfo } from "@tensorflow/tfjs-core";

/** The same tensor with no more axes than `rank`: leading axes of length one go. */
export function fitRank(tensor: TensorInfo, rank: number): TensorInfo {
  const { dataId, dtype, shape } = tensor;
  return { dataId, dtype, shape: shape.length > rank ? shape.slice(shape.length - rank) : [...shape] };
}
