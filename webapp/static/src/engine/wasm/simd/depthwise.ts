/**
 * Gradients of depthwise convolutions on the compiled kernels; several filters per channel go to the JavaScript
 * loops.
 */

import type { TensorInfo } from "@tensorflow/tfjs-core";
import { inputOf, type KernelCall, type WasmKernel } from "../heap";
import { convolutionWindow, type Window } from "../window";
import { frameBytes, geometry } from "./convolution";
import { Machine } from "./kernel-module";

/** Channels that a part of the filter's gradient has. */
const GROUP = 4;

function workOf(window: Window): number {
  const taps = window.height * window.width;
  return (window.batch * window.outHeight * window.outWidth * window.channels * taps) / GROUP;
}

/** dW [h, w, C, 1] of x [N, H, W, C] and dy [N, outH, outW, C]. */
export function depthwiseFilterGradient(machine: Machine, original: WasmKernel): WasmKernel {
  return (call: KernelCall) => {
    const { backend, attrs } = call;
    const [x, dy] = [inputOf(call, "x"), inputOf(call, "dy")];
    const filterShape = attrs.filterShape as number[];
    if (filterShape[3] !== 1) return original(call);
    const window = convolutionWindow(x.shape, filterShape, attrs, true);
    const dw = backend.makeOutput(filterShape, "float32");
    const at = (tensor: TensorInfo) => Machine.address(backend, tensor);
    const values = [at(x), at(dy), at(dw), geometry(machine, window), window.batch];
    machine.run(
      "depthwiseFilterGradient",
      Math.ceil(window.channels / GROUP),
      workOf(window),
      values,
      frameBytes(window),
    );
    return dw;
  };
}

/** dx [N, H, W, C] of filter [h, w, C, 1] and dy [N, outH, outW, C]. */
export function depthwiseInputGradient(machine: Machine, original: WasmKernel): WasmKernel {
  return (call: KernelCall) => {
    const { backend, attrs } = call;
    const [filter, dy] = [inputOf(call, "filter"), inputOf(call, "dy")];
    const inputShape = attrs.inputShape as number[];
    if (filter.shape[3] !== 1) return original(call);
    const window = convolutionWindow(inputShape, filter.shape, attrs, true);
    const dx = backend.makeOutput(inputShape, "float32");
    const at = (tensor: TensorInfo) => Machine.address(backend, tensor);
    const values = [at(filter), at(dy), at(dx), geometry(machine, window)];
    machine.run("depthwiseInputGradient", window.batch, workOf(window), values, frameBytes(window));
    return dx;
  };
}
