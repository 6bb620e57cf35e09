/** How the windows of a convolution or pooling lie on their input; all sizes count elements. */

import { backend_util } from "@tensorflow/tfjs-core";
import type { Padding } from "../ops/attributes";

export interface Window {
  readonly batch: number;
  readonly inHeight: number;
  readonly inWidth: number;
  readonly channels: number;
  readonly outHeight: number;
  readonly outWidth: number;
  readonly outChannels: number;
  readonly height: number;
  readonly width: number;
  readonly strideHeight: number;
  readonly strideWidth: number;
  readonly top: number;
  readonly left: number;
}

type WindowShape = [number, number, number, number];

function windowOf(info: backend_util.Conv2DInfo): Window {
  return {
    batch: info.batchSize,
    inHeight: info.inHeight,
    inWidth: info.inWidth,
    channels: info.inChannels,
    outHeight: info.outHeight,
    outWidth: info.outWidth,
    outChannels: info.outChannels,
    height: info.filterHeight,
    width: info.filterWidth,
    strideHeight: info.strideHeight,
    strideWidth: info.strideWidth,
    top: info.padInfo.top,
    left: info.padInfo.left,
  };
}

/** Window of a convolution of `input` [N, H, W, C] with `filter` [h, w, C, K]. */
export function convolutionWindow(
  input: readonly number[],
  filter: readonly number[],
  attrs: Readonly<Record<string, unknown>>,
  depthwise = false,
): Window {
  const strides = attrs.strides as [number, number];
  const pad = attrs.pad as Padding;
  const shapes = [input as WindowShape, filter as WindowShape] as const;
  return windowOf(backend_util.computeConv2DInfo(...shapes, strides, 1, pad, undefined, depthwise));
}

/** Window of a pooling of `input` [N, H, W, C]. */
export function poolingWindow(input: readonly number[], attrs: Readonly<Record<string, unknown>>): Window {
  const filterSize = attrs.filterSize as [number, number];
  const strides = attrs.strides as [number, number];
  return windowOf(
    backend_util.computePool2DInfo(input as WindowShape, filterSize, strides, 1, attrs.pad as Padding),
  );
}

/** Output positions [first, end) whose window, shifted by `offset`, falls inside the input. */
export function coveredRange(out: number, size: number, stride: number, offset: number): [number, number] {
  const first = Math.max(Math.ceil(-offset / stride), 0);
  const end = Math.min(Math.floor((size - 1 - offset) / stride) + 1, out);
  return [first, Math.max(end, first)];
}
