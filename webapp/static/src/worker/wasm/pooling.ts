/**
 * Gradient of max pooling for the WASM backend. That of TF.js 4.22 steps through channels wrongly: with several
 * channels its result is off by a quarter (relative L2 error 0.28 against TensorFlow).
 */

import type { TensorInfo } from "@tensorflow/tfjs-core";
import { floats, inputOf, type KernelCall } from "./heap";
import { poolingWindow, type Window } from "./window";

/** Pixel of the largest value of one window in one channel; of equal values the first, as TensorFlow does. */
function argMax(x: Float32Array, window: Window, n: number, row: number, column: number, c: number): number {
  const { inHeight, inWidth, channels } = window;
  const top = row * window.strideHeight - window.top;
  const left = column * window.strideWidth - window.left;
  const bottom = Math.min(top + window.height, inHeight);
  const right = Math.min(left + window.width, inWidth);
  let best = -1;
  let largest = Number.NEGATIVE_INFINITY;
  for (let y = Math.max(top, 0); y < bottom; y++) {
    for (let z = Math.max(left, 0); z < right; z++) {
      const index = ((n * inHeight + y) * inWidth + z) * channels + c;
      const value = x[index] as number;
      if (value > largest || best < 0) {
        largest = value;
        best = index;
      }
    }
  }
  return best;
}

/** dx [N, H, W, C] of the pooled input and dy [N, outH, outW, C]. */
export function maxPoolGrad(call: KernelCall): TensorInfo {
  const { backend, attrs } = call;
  const [x, dy] = [inputOf(call, "input"), inputOf(call, "dy")];
  const window = poolingWindow(x.shape, attrs);
  const result = backend.makeOutput(x.shape, "float32");
  const [inputs, gradient, dx] = [floats(backend, x), floats(backend, dy), floats(backend, result)];
  dx.fill(0);
  let out = 0;
  for (let n = 0; n < window.batch; n++) {
    for (let row = 0; row < window.outHeight; row++) {
      for (let column = 0; column < window.outWidth; column++) {
        for (let c = 0; c < window.channels; c++, out++) {
          const index = argMax(inputs, window, n, row, column, c);
          dx[index] = (dx[index] as number) + (gradient[out] as number);
        }
      }
    }
  }
  return result;
}
