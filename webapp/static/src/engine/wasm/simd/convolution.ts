/** Convolutions and their gradients on the compiled kernels, which read windows in place. */

import type { TensorInfo } from "@tensorflow/tfjs-core";
import { inputOf, type KernelCall, type WasmBackend, type WasmKernel } from "../heap";
import { convolutionWindow, type Window } from "../window";
import { floorOf } from "./activation";
import { Machine } from "./kernel-module";
import { LANES } from "./products";

/** Bytes that a tile needs beside its operands. */
const TILE = 224;
const COLUMNS = 8;
/** Positions of dy that the filter's gradient packs at a time. */
const POSITIONS = 512;

/** A window in the order of the kernels' `Geometry`. */
export function geometry(machine: Machine, window: Window): number {
  return machine.integers([
    ...[window.inHeight, window.inWidth, window.channels],
    ...[window.outHeight, window.outWidth, window.outChannels],
    ...[window.height, window.width, window.strideHeight, window.strideWidth],
    ...[window.top, window.left],
  ]);
}

/** Bytes of one image within its frame of zeros. */
export function frameBytes(window: Window): number {
  const height = (window.outHeight - 1) * window.strideHeight + window.height;
  const width = (window.outWidth - 1) * window.strideWidth + window.width;
  return height * width * window.channels * 4;
}

/** Steps of the innermost loop of a convolution or one of its gradients. */
function workOf(window: Window): number {
  const depth = window.height * window.width * window.channels;
  return (window.batch * window.outHeight * window.outWidth * window.outChannels * depth) / LANES;
}

interface Convolution {
  readonly x: TensorInfo;
  readonly filter: TensorInfo;
  readonly out: TensorInfo;
  readonly window: Window;
  readonly bias?: TensorInfo | undefined;
  readonly floor?: number;
  /** Whether the filter is turned by 180 degrees, its channels swapped. */
  readonly turned?: boolean;
}

function convolve(machine: Machine, backend: WasmBackend, convolution: Convolution): void {
  const { x, filter, out, window, bias, floor = Number.NEGATIVE_INFINITY, turned = false } = convolution;
  const at = (tensor: TensorInfo) => Machine.address(backend, tensor);
  const depth = window.height * window.width * window.channels;
  const panels = Math.ceil(window.outChannels / COLUMNS) * COLUMNS * (depth + 1) * 4;
  const values = [at(x), at(filter), at(out), geometry(machine, window), bias ? at(bias) : 0, floor];
  const scratch = TILE + frameBytes(window) + panels;
  machine.run("convolve", window.batch, workOf(window), [...values, turned ? 1 : 0], scratch);
}

const undilated = (dilations: unknown) => [dilations].flat().every((d) => d === undefined || d === 1);

/** Replaces Conv2D and FusedConv2D; rare cases go to `original`. */
export function convolution(machine: Machine, original: WasmKernel): WasmKernel {
  return (call: KernelCall) => {
    const { backend, inputs, attrs } = call;
    const [x, filter] = [inputOf(call, "x"), inputOf(call, "filter")];
    const floor = floorOf(attrs.activation);
    const plain = undilated(attrs.dilations) && (attrs.dataFormat ?? "NHWC") === "NHWC";
    if (floor === null || !plain || x.dtype !== "float32") return original(call);
    const window = convolutionWindow(x.shape, filter.shape, attrs);
    const { batch, outHeight, outWidth, outChannels } = window;
    const out = backend.makeOutput([batch, outHeight, outWidth, outChannels], "float32");
    convolve(machine, backend, { x, filter, out, window, bias: inputs.bias, floor });
    return out;
  };
}

/** dW [h, w, C, K] of x [N, H, W, C] and dy [N, outH, outW, K]. */
export function filterGradient(machine: Machine): WasmKernel {
  return (call: KernelCall) => {
    const { backend, attrs } = call;
    const [x, dy] = [inputOf(call, "x"), inputOf(call, "dy")];
    const filterShape = attrs.filterShape as number[];
    const window = convolutionWindow(x.shape, filterShape, attrs);
    const dw = backend.makeOutput(filterShape, "float32");
    const at = (tensor: TensorInfo) => Machine.address(backend, tensor);
    const values = [at(x), at(dy), at(dw), geometry(machine, window), window.batch];
    const packed = Math.max(POSITIONS, window.outWidth) * COLUMNS * 4;
    const rows = window.height * window.width * window.channels;
    machine.run("filterGradient", rows, workOf(window), values, TILE + frameBytes(window) + packed);
    return dw;
  };
}

/** With stride 1 the input's gradient is itself a convolution: dy with the turned filter. */
function asConvolution(window: Window): Window {
  return {
    ...window,
    inHeight: window.outHeight,
    inWidth: window.outWidth,
    channels: window.outChannels,
    outHeight: window.inHeight,
    outWidth: window.inWidth,
    outChannels: window.channels,
    top: window.height - 1 - window.top,
    left: window.width - 1 - window.left,
  };
}

/** The same for each position alone, as a 1x1 convolution: the gradients of its window, to be added up. */
function pointwise(window: Window): Window {
  return {
    ...window,
    inHeight: window.outHeight,
    inWidth: window.outWidth,
    channels: window.outChannels,
    outChannels: window.height * window.width * window.channels,
    ...{ height: 1, width: 1, strideHeight: 1, strideWidth: 1, top: 0, left: 0 },
  };
}

/** dx [N, H, W, C] of filter [h, w, C, K] and dy [N, outH, outW, K]. */
export function inputGradient(machine: Machine): WasmKernel {
  return (call: KernelCall) => {
    const { backend, attrs } = call;
    const [filter, dy] = [inputOf(call, "filter"), inputOf(call, "dy")];
    const inputShape = attrs.inputShape as number[];
    const window = convolutionWindow(inputShape, filter.shape, attrs);
    const dx = backend.makeOutput(inputShape, "float32");
    if (window.strideHeight === 1 && window.strideWidth === 1) {
      convolve(machine, backend, { x: dy, filter, out: dx, window: asConvolution(window), turned: true });
      return dx;
    }
    const each = pointwise(window);
    const columns = backend.makeOutput(
      [window.batch, window.outHeight, window.outWidth, each.outChannels],
      "float32",
    );
    convolve(machine, backend, { x: dy, filter, out: columns, window: each, turned: true });
    const [from, to] = [Machine.address(backend, columns), Machine.address(backend, dx)];
    const values = [from, to, geometry(machine, window)];
    machine.run("fold", window.batch, workOf(each), values, frameBytes(window));
    backend.disposeData(columns.dataId);
    return dx;
  };
}
