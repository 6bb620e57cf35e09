/** Resizes images by matrix products, and converts pixels to channels. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import { cast, matMul, reshape, type Tensor, tensor, transpose } from "@tensorflow/tfjs-core";
import { constant } from "../constant-inputs";
import { convert } from "./convert";
import { type Family, input, type Op } from "./types";

/** The weight of each input pixel in an output pixel: rows of [out, in], flat. */
type ResizeWeights = (from: number, to: number, node: GraphNode) => Float32Array;

function scaleOf(from: number, to: number, node: GraphNode): number {
  const corners = node.attrs.align_corners === true && to > 1;
  return Math.fround(corners ? (from - 1) / (to - 1) : from / to);
}

/** Linear interpolation between the two nearest pixels, in TensorFlow's single precision. */
const bilinear: ResizeWeights = (from, to, node) => {
  const scale = scaleOf(from, to, node);
  const weights = new Float32Array(to * from);
  for (let out = 0; out < to; out++) {
    const half = node.attrs.half_pixel_centers === true;
    const place = half ? Math.fround(Math.fround((out + 0.5) * scale) - 0.5) : Math.fround(out * scale);
    const floor = Math.floor(place);
    const [low, high] = [Math.max(floor, 0), Math.min(Math.ceil(place), from - 1)];
    const part = place - floor;
    weights[out * from + low] = (weights[out * from + low] as number) + 1 - part;
    weights[out * from + high] = (weights[out * from + high] as number) + part;
  }
  return weights;
};

/** Takes only the nearest pixel. */
const nearest: ResizeWeights = (from, to, node) => {
  const scale = scaleOf(from, to, node);
  const weights = new Float32Array(to * from);
  for (let out = 0; out < to; out++) {
    const place = Math.fround((node.attrs.half_pixel_centers === true ? out + 0.5 : out) * scale);
    const pixel = node.attrs.align_corners === true ? Math.round(place) : Math.floor(place);
    weights[out * from + Math.min(Math.max(pixel, 0), from - 1)] = 1;
  }
  return weights;
};

/**
 * Resizes images [N, H, W, C] to another height and width, or with `back` computes the gradient of that: rows first,
 * then columns, each as one matrix product. The kernels of TF.js 4.22 have no gradient for half-pixel centers, and
 * the WASM backend has none at all.
 */
function resize(
  images: Tensor,
  size: readonly number[],
  weights: ResizeWeights,
  node: GraphNode,
  back: boolean,
) {
  const [batch = 1, height = 1, width = 1, channels = 1] = images.shape;
  const [outHeight = 1, outWidth = 1] = size;
  const mix = (rows: Tensor, from: number, to: number) => {
    const [small, large] = back ? [to, from] : [from, to];
    const matrix = tensor(weights(small, large, node), [1, large, small]);
    return matMul(matrix, rows, back, false);
  };
  const high = mix(reshape(images, [batch, height, width * channels]), height, outHeight);
  const wide = mix(reshape(high, [batch * outHeight, width, channels]), width, outWidth);
  return reshape(wide, [batch, outHeight, outWidth, channels]);
}

function forward(weights: ResizeWeights): Op {
  return (node) => resize(input(node, 0), constant(node.inputs[1]), weights, node, false);
}

function backward(weights: ResizeWeights, size: (node: GraphNode) => number[]): Op {
  return (node) => resize(input(node, 0), size(node), weights, node, true);
}

/** Returns [N, H, W, C] with blocks of pixels as channels. */
function spaceToDepth(node: GraphNode): Tensor {
  const x = input(node, 0);
  const block = Number(node.attrs.block_size);
  const [batch = 1, height = 1, width = 1, channels = 1] = x.shape;
  const [rows, columns] = [height / block, width / block];
  // As floats, because TF.js 4.22 transposes integers on WebGPU incorrectly.
  const cut = reshape(convert(x, "float32"), [batch * rows, block, columns, block * channels]);
  const turned = cast(transpose(cut, [0, 2, 1, 3]), x.dtype);
  return reshape(turned, [batch, rows, columns, block * block * channels]);
}

export const image: Family = {
  ResizeBilinear: forward(bilinear),
  ResizeBilinearGrad: backward(bilinear, (node) => input(node, 1).shape.slice(1, 3)),
  ResizeNearestNeighbor: forward(nearest),
  ResizeNearestNeighborGrad: backward(nearest, (node) => constant(node.inputs[1])),
  SpaceToDepth: spaceToDepth,
};
