/**
 * Gradient of max pooling for the WASM backend. That of TF.js 4.22 steps through channels incorrectly: with several
 * channels its result is off by a quarter (relative L2 error 0.28 against TensorFlow).
 */

import type { TensorInfo } from "@tensorflow/tfjs-core";
import { floats, inputOf, type KernelCall } from "./heap";
import { poolingWindow, type Window } from "./window";

/**
 * Finds the place of the largest value in one window, for each channel, and writes it to `places`. Of equal values
 * the first counts, as in TensorFlow. `largest` is scratch; both have one element per channel.
 */
function argMax(
  x: Float32Array,
  window: Window,
  start: WindowStart,
  largest: Float32Array,
  places: Int32Array,
): void {
  const { inHeight, inWidth, channels } = window;
  const bottom = Math.min(start.top + window.height, inHeight);
  const right = Math.min(start.left + window.width, inWidth);
  largest.fill(Number.NEGATIVE_INFINITY);
  places.fill(-1);
  for (let y = Math.max(start.top, 0); y < bottom; y++) {
    for (let z = Math.max(start.left, 0); z < right; z++) {
      const pixel = ((start.image * inHeight + y) * inWidth + z) * channels;
      for (let c = 0; c < channels; c++) {
        const value = x[pixel + c] as number;
        if (value > (largest[c] as number)) {
          largest[c] = value;
          places[c] = pixel + c;
        }
      }
    }
  }
}

/** Where a window begins; it may be outside the image. */
interface WindowStart {
  readonly image: number;
  readonly top: number;
  readonly left: number;
}

/** Returns dx [N, H, W, C] of the pooled input and dy [N, outH, outW, C]. Windows of NaN pass no gradient. */
export function maxPoolGrad(call: KernelCall): TensorInfo {
  const { backend, attrs } = call;
  const [x, dy] = [inputOf(call, "input"), inputOf(call, "dy")];
  const window = poolingWindow(x.shape, attrs);
  const { channels } = window;
  const result = backend.makeOutput(x.shape, "float32");
  const [inputs, gradient, dx] = [floats(backend, x), floats(backend, dy), floats(backend, result)];
  const largest = new Float32Array(channels);
  const places = new Int32Array(channels);
  dx.fill(0);
  let out = 0;
  for (let image = 0; image < window.batch; image++) {
    for (let row = 0; row < window.outHeight; row++) {
      for (let column = 0; column < window.outWidth; column++, out += channels) {
        const top = row * window.strideHeight - window.top;
        const left = column * window.strideWidth - window.left;
        argMax(inputs, window, { image, top, left }, largest, places);
        for (let c = 0; c < channels; c++) {
          const place = places[c] as number;
          if (place >= 0) dx[place] = (dx[place] as number) + (gradient[out + c] as number);
        }
      }
    }
  }
  return result;
}
