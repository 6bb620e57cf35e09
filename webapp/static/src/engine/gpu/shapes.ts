/** Fits shapes to the samplers of TF.js' shaders. */

import type { TensorInfo } from "@tensorflow/tfjs-core";

/** Views the tensor with at most `rank` axes: leading axes of length one are removed. */
export function fitRank(tensor: TensorInfo, rank: number): TensorInfo {
  const { dataId, dtype, shape } = tensor;
  return { dataId, dtype, shape: shape.length > rank ? shape.slice(shape.length - rank) : [...shape] };
}
