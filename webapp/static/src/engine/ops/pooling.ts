/** Pooling and its gradients. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import {
  AvgPoolGrad,
  backend_util,
  fill,
  MaxPool,
  MaxPoolGrad,
  mul,
  type Tensor,
  tensor,
} from "@tensorflow/tfjs-core";
import { constant } from "../constant-inputs";
import { type Padding, padding, runKernel, spatial } from "./attributes";
import { type Family, input, requireChannelsLast } from "./types";

export interface PoolWindow {
  readonly filterSize: [number, number];
  readonly strides: [number, number];
  readonly pad: Padding;
}

function window(node: GraphNode): PoolWindow {
  requireChannelsLast(node);
  const [, height = 1, width = 1] = node.attrs.ksize as number[];
  return { filterSize: [height, width], strides: spatial(node, "strides"), pad: padding(node) };
}

/**
 * Returns dx [N, H, W, C] of an average pooling. The kernels of TF.js 4.22 divide by the size of the window even if
 * it crosses the border; TensorFlow divides by the number of pixels inside. dy is first scaled by the quotient of the
 * two.
 */
export function averagePoolGrad(shape: readonly number[], dy: Tensor, frame: PoolWindow): Tensor {
  const { filterSize, strides, pad } = frame;
  const images = [...shape] as [number, number, number, number];
  const info = backend_util.computePool2DInfo(images, filterSize, strides, 1, pad);
  const inside = (out: number, size: number, stride: number, first: number, length: number) =>
    Array.from({ length: out }, (_, i) => {
      const start = i * stride - first;
      return Math.min(start + length, size) - Math.max(start, 0);
    });
  const [height, width] = filterSize;
  const rows = inside(info.outHeight, info.inHeight, info.strideHeight, info.padInfo.top, height);
  const columns = inside(info.outWidth, info.inWidth, info.strideWidth, info.padInfo.left, width);
  const factors = rows.flatMap((row) => columns.map((column) => (height * width) / (row * column)));
  const scaled = factors.every((factor) => factor === 1)
    ? dy
    : mul(dy, tensor(factors, [1, rows.length, columns.length, 1]));
  // The kernel reads only the shape of `input`.
  return runKernel(AvgPoolGrad, { dy: scaled, input: fill(images, 0) }, frame);
}

export const pooling: Family = {
  // TF.js' executor does not support explicit paddings for this op.
  MaxPool: (node) => runKernel(MaxPool, { x: input(node, 0) }, window(node)),
  MaxPoolGrad: (node) => {
    const [x, y, dy] = [input(node, 0), input(node, 1), input(node, 2)];
    return runKernel(MaxPoolGrad, { dy, input: x, output: y }, window(node));
  },
  AvgPoolGrad: (node) => averagePoolGrad(constant(node.inputs[0]), input(node, 1), window(node)),
};
