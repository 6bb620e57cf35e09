/**
 * The gradient of a convolution's filter. The kernels of TF.js 4.22 give each weight to one thread, which iterates
 * over the whole batch: few threads with long loops, one multiplication for two reads. This kernel cuts the batch
 * into shares that are added up afterwards, and each thread computes several weights from what it reads.
 */

import { backend_util, type TensorInfo } from "@tensorflow/tfjs-core";

type Conv2DInfo = backend_util.Conv2DInfo;

/** The number of threads that keep a GPU busy. */
export const ENOUGH_THREADS = 4096;

export interface FilterGradient {
  readonly x: TensorInfo;
  readonly dy: TensorInfo;
  readonly info: Conv2DInfo;
}

/** Returns the arguments of a kernel Conv2DBackpropFilter; null if these shaders do not apply. */
export function filterGradientOf(
  inputs: Readonly<Record<string, TensorInfo>>,
  attrs: Readonly<Record<string, unknown>>,
): FilterGradient | null {
  const { x, dy } = inputs as { x: TensorInfo; dy: TensorInfo };
  const dilations = attrs.dilations as number | [number, number] | undefined;
  if (attrs.dataFormat !== "NHWC" || ![1, dilations].flat().every((d) => d === undefined || d === 1))
    return null;
  const info = backend_util.computeConv2DInfo(
    x.shape as [number, number, number, number],
    attrs.filterShape as [number, number, number, number],
    attrs.strides as [number, number],
    1,
    attrs.pad as "same",
    attrs.dimRoundingMode as "floor" | undefined,
  );
  return info.filterWidth <= 8 ? { x, dy, info } : null;
}
