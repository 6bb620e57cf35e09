/** Gradients of depthwise convolutions; the WASM backend of TF.js 4.22 has neither. */

import type { TensorInfo } from "@tensorflow/tfjs-core";
import { floats, inputOf, type KernelCall } from "./heap";
import { convolutionWindow, coveredRange, type Window } from "./window";

/** Visits each pair of a window's input pixel and output pixel for tap (fh, fw): offsets in pixels. */
function forEachPair(
  window: Window,
  fh: number,
  fw: number,
  visit: (input: number, out: number) => void,
): void {
  const [rowOffset, columnOffset] = [fh - window.top, fw - window.left];
  const [firstRow, endRow] = coveredRange(window.outHeight, window.inHeight, window.strideHeight, rowOffset);
  const [first, end] = coveredRange(window.outWidth, window.inWidth, window.strideWidth, columnOffset);
  for (let n = 0; n < window.batch; n++) {
    for (let row = firstRow; row < endRow; row++) {
      const line = (n * window.inHeight + row * window.strideHeight + rowOffset) * window.inWidth;
      const outLine = (n * window.outHeight + row) * window.outWidth;
      for (let column = first; column < end; column++) {
        visit(line + column * window.strideWidth + columnOffset, outLine + column);
      }
    }
  }
}

/** dW [h, w, C, m] of x [N, H, W, C] and dy [N, outH, outW, C * m]. */
export function depthwiseBackpropFilter(call: KernelCall): TensorInfo {
  const { backend, attrs } = call;
  const [x, dy] = [inputOf(call, "x"), inputOf(call, "dy")];
  const filterShape = attrs.filterShape as number[];
  const window = convolutionWindow(x.shape, filterShape, attrs, true);
  const { channels } = window;
  const multiplier = filterShape[3] as number;
  const result = backend.makeOutput(filterShape, "float32");
  const [inputs, gradient, dw] = [floats(backend, x), floats(backend, dy), floats(backend, result)];
  const sums = new Float64Array(channels * multiplier);
  for (let tap = 0; tap < window.height * window.width; tap++) {
    sums.fill(0);
    forEachPair(window, Math.floor(tap / window.width), tap % window.width, (input, out) => {
      for (let i = 0; i < sums.length; i++) {
        const value = inputs[input * channels + Math.floor(i / multiplier)] as number;
        sums[i] = (sums[i] as number) + value * (gradient[out * sums.length + i] as number);
      }
    });
    dw.set(sums, tap * sums.length);
  }
  return result;
}

/** dx [N, H, W, C] of filter [h, w, C, m] and dy [N, outH, outW, C * m]. */
export function depthwiseBackpropInput(call: KernelCall): TensorInfo {
  const { backend, attrs } = call;
  const [filter, dy] = [inputOf(call, "filter"), inputOf(call, "dy")];
  const inputShape = attrs.inputShape as number[];
  const window = convolutionWindow(inputShape, filter.shape, attrs, true);
  const { channels } = window;
  const multiplier = filter.shape[3] as number;
  const outputs = channels * multiplier;
  const result = backend.makeOutput(inputShape, "float32");
  const [weights, gradient, dx] = [floats(backend, filter), floats(backend, dy), floats(backend, result)];
  dx.fill(0);
  for (let tap = 0; tap < window.height * window.width; tap++) {
    forEachPair(window, Math.floor(tap / window.width), tap % window.width, (input, out) => {
      for (let i = 0; i < outputs; i++) {
        const target = input * channels + Math.floor(i / multiplier);
        const change = (weights[tap * outputs + i] as number) * (gradient[out * outputs + i] as number);
        dx[target] = (dx[target] as number) + change;
      }
    });
  }
  return result;
}
