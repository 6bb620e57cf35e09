/**
 * Three-dimensional convolutions and poolings, composed of two-dimensional ones: of TF.js 4.22's own kernels the
 * gradients of convolutions are incorrect on WASM, that of max pooling everywhere, and that of average pooling at
 * borders.
 */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import {
  avgPool,
  Conv2DBackpropFilter,
  Conv2DBackpropInput,
  equal,
  fill,
  maxPool,
  mul,
  reshape,
  stack,
  type Tensor,
  type Tensor4D,
  unstack,
} from "@tensorflow/tfjs-core";
import { constant } from "../constant-inputs";
import { runKernel } from "./attributes";
import { interleaveZeros, padAxes, strideAxes } from "./axes";
import { convert } from "./convert";
import { averagePoolGrad, type PoolWindow } from "./pooling";
import { addAll } from "./reduction";
import { type Family, input } from "./types";

type Triple = [number, number, number];
type Volume = [number, number, number, number, number];

function triple(node: GraphNode, name: string): Triple {
  const values = node.attrs[name] as number[] | undefined;
  return [values?.[1] ?? 1, values?.[2] ?? 1, values?.[3] ?? 1];
}

/** Returns strides and padding; the padding is the same for all axes. */
function frame(node: GraphNode): { strides: Triple; pad: "same" | "valid" } {
  const format = node.attrs.data_format;
  if ((format !== undefined && format !== "ndhwc") || triple(node, "dilations").some((size) => size !== 1)) {
    throw new Error(
      "The graph trains a dilated Conv3D or one with channels first; use dilation_rate=1 and channels last.",
    );
  }
  return { strides: triple(node, "strides"), pad: node.attrs.padding as "same" | "valid" };
}

/** Returns the padding planes before the first plane that a window of `depth` planes covers. */
function planesBefore(
  size: number,
  out: number,
  depth: number,
  stride: number,
  pad: "same" | "valid",
): number {
  return pad === "valid" ? 0 : Math.floor(Math.max((out - 1) * stride + depth - size, 0) / 2);
}

/** Views all planes of a volume as a batch of images. */
function asImages(volume: Tensor): Tensor4D {
  const [batch, depth, ...plane] = volume.shape as Volume;
  return reshape(volume, [batch * depth, ...plane]) as Tensor4D;
}

/**
 * Returns where the planes that a filter's plane `tap` meets are in a volume with `padding` planes of zeros in front.
 */
function meets(tap: number, size: number, out: number, stride: number, padding: number): number[] {
  const first = tap - padding;
  const low = Math.max(Math.ceil(-first / stride), 0);
  const high = Math.min(Math.floor((size - 1 - first) / stride), out - 1);
  return [low, Math.max(high - low + 1, 0), first + low * stride];
}

/** Returns `count` planes of a volume from `start` on, each `step`-th. */
function planes(volume: Tensor, start: number, count: number, step: number): Tensor {
  const axes = volume.shape.map((size) => ({ size, start: 0, step: 1, count: size }));
  axes[1] = { size: volume.shape[1] as number, start, step, count };
  return strideAxes(volume, axes);
}

/**
 * Returns dW [d, h, w, C, K] of x [N, D, H, W, C] and dy: one gradient of a 2-D convolution for each plane of the
 * filter.
 */
function filterGradient(node: GraphNode): Tensor {
  const [x, dy] = [input(node, 0), input(node, 2)];
  const [depth = 1, ...filterShape] = constant(node.inputs[1]);
  const { strides, pad } = frame(node);
  const [step, ...flat] = strides;
  const [size, out] = [x.shape[1] as number, dy.shape[1] as number];
  const padding = planesBefore(size, out, depth, step, pad);
  const attrs = { strides: flat, pad, dataFormat: "NHWC", dilations: [1, 1], filterShape };
  const taps = Array.from({ length: depth }, (_, tap) => {
    const [from = 0, count = 0, start = 0] = meets(tap, size, out, step, padding);
    if (count === 0) return fill(filterShape, 0);
    const tensors = { x: asImages(planes(x, start, count, step)), dy: asImages(planes(dy, from, count, 1)) };
    return runKernel(Conv2DBackpropFilter, tensors, attrs);
  });
  return stack(taps);
}

/**
 * Returns dx [N, D, H, W, C] of filter and dy: the contribution of each filter plane is added to the planes that it
 * met.
 */
function inputGradient(node: GraphNode): Tensor {
  const [filter, dy] = [input(node, 1), input(node, 2)];
  const shape = constant(node.inputs[0]) as Volume;
  const { strides, pad } = frame(node);
  const [step, ...flat] = strides;
  const [batch, size, ...plane] = shape;
  const out = dy.shape[1] as number;
  const padding = planesBefore(size, out, filter.shape[0] as number, step, pad);
  const parts = unstack(filter).flatMap((flatFilter, tap) => {
    const [from = 0, count = 0, start = 0] = meets(tap, size, out, step, padding);
    if (count === 0) return [];
    const attrs = {
      strides: flat,
      pad,
      dataFormat: "NHWC",
      dilations: [1, 1],
      inputShape: [batch * count, ...plane],
    };
    const images = asImages(planes(dy, from, count, 1));
    const dx = runKernel(Conv2DBackpropInput, { filter: flatFilter, dy: images }, attrs);
    const spread = interleaveZeros(reshape(dx, [batch, count, ...plane]), 1, step - 1);
    const none: [number, number] = [0, 0];
    const after = size - start - (spread.shape[1] as number);
    return [padAxes(spread, [none, [start, after], none, none, none])];
  });
  return addAll(parts);
}

/** A three-dimensional pooling pools each plane, and then along the planes. */
interface PoolStages {
  readonly across: PoolWindow;
  readonly along: PoolWindow;
}

function stages(node: GraphNode): PoolStages {
  const { strides, pad } = frame(node);
  const [depth, height, width] = triple(node, "ksize");
  return {
    across: { filterSize: [height, width], strides: [strides[1], strides[2]], pad },
    along: { filterSize: [depth, 1], strides: [strides[0], 1], pad },
  };
}

type Pool = typeof maxPool;

/** Pools each plane of [N, D, H, W, C]: [N, D, outH, outW, C]. */
function poolPlanes(pool: Pool, x: Tensor, { filterSize, strides, pad }: PoolWindow): Tensor {
  const pooled = pool(asImages(x), filterSize, strides, pad);
  return reshape(pooled, [...x.shape.slice(0, 2), ...pooled.shape.slice(1)]);
}

/** Views [N, D, H, W, C] as images whose rows are planes: [N, D, H * W, C]. */
function asRows(x: Tensor): Tensor4D {
  const [batch, depth, height, width, channels] = x.shape as Volume;
  return reshape(x, [batch, depth, height * width, channels]) as Tensor4D;
}

function pooled(pool: Pool, node: GraphNode): Tensor {
  const { across, along } = stages(node);
  const flat = poolPlanes(pool, input(node, 0), across);
  const rows = pool(asRows(flat), along.filterSize, along.strides, along.pad);
  return reshape(rows, [rows.shape[0], rows.shape[1], ...flat.shape.slice(2)]);
}

/**
 * Returns how an axis of images meets tap `tap` of a window: parts of it, of the result, and the surrounding padding.
 */
function tapAxis(
  size: number,
  out: number,
  length: number,
  stride: number,
  pad: "same" | "valid",
  tap: number,
) {
  const before = planesBefore(size, out, length, stride, pad);
  const [from = 0, count = 0, start = 0] = meets(tap, size, out, stride, before);
  const end = start + (count - 1) * stride + 1;
  return {
    count,
    images: { size, start, step: stride, count },
    result: { size: out, start: from, step: 1, count },
    around: [start, size - end] as [number, number],
    gap: stride - 1,
  };
}

/**
 * Returns dx of images x with largest values y: unlike in two dimensions, TensorFlow gives the gradient to every
 * pixel of a window that equals its maximum.
 */
function sharedMaximumGrad(x: Tensor4D, y: Tensor4D, dy: Tensor, frame: PoolWindow): Tensor {
  const [batch, height, width, channels] = x.shape;
  const [, outHeight, outWidth] = y.shape;
  const pad = frame.pad as "same" | "valid";
  const whole = (size: number) => ({ size, start: 0, step: 1, count: size });
  const taps = Array.from({ length: frame.filterSize[0] * frame.filterSize[1] }, (_, i) => i);
  const parts = taps.flatMap((tap) => {
    const [down, across] = [Math.floor(tap / frame.filterSize[1]), tap % frame.filterSize[1]];
    const rows = tapAxis(height, outHeight, frame.filterSize[0], frame.strides[0], pad, down);
    const columns = tapAxis(width, outWidth, frame.filterSize[1], frame.strides[1], pad, across);
    if (rows.count === 0 || columns.count === 0) return [];
    const pick = (tensor: Tensor, of: "images" | "result") =>
      strideAxes(tensor, [whole(batch), rows[of], columns[of], whole(channels)]);
    const largest = convert(equal(pick(x, "images"), pick(y, "result")), "float32");
    const spread = interleaveZeros(mul(pick(dy, "result"), largest), 1, rows.gap);
    return [padAxes(interleaveZeros(spread, 2, columns.gap), [[0, 0], rows.around, columns.around, [0, 0]])];
  });
  return addAll(parts);
}

function maxPoolGradient(node: GraphNode): Tensor {
  const [x, y, dy] = [input(node, 0), input(node, 1), input(node, 2)];
  const { across, along } = stages(node);
  const flat = poolPlanes(maxPool, x, across);
  const dFlat = sharedMaximumGrad(asRows(flat), asRows(y), asRows(dy), along);
  const dImages = reshape(dFlat, asImages(flat).shape);
  return reshape(sharedMaximumGrad(asImages(x), asImages(flat), dImages, across), x.shape);
}

function averagePoolGradient(node: GraphNode): Tensor {
  const shape = constant(node.inputs[0]) as Volume;
  const dy = input(node, 1);
  const { across, along } = stages(node);
  const [batch, depth, height, width, channels] = shape;
  const [outHeight = 1, outWidth = 1] = dy.shape.slice(2);
  const dFlat = averagePoolGrad([batch, depth, outHeight * outWidth, channels], asRows(dy), along);
  const dImages = reshape(dFlat, [batch * depth, outHeight, outWidth, channels]);
  return reshape(averagePoolGrad([batch * depth, height, width, channels], dImages, across), shape);
}

export const volume: Family = {
  AvgPool3D: (node) => pooled(avgPool, node),
  AvgPool3DGrad: averagePoolGradient,
  Conv3DBackpropFilterV2: filterGradient,
  Conv3DBackpropInputV2: inputGradient,
  MaxPool3D: (node) => pooled(maxPool, node),
  MaxPool3DGrad: maxPoolGradient,
};
