/**
 * Gradients of convolutions for the WASM backend. TF.js 4.22 has no Conv2DBackpropFilter there, and its
 * Conv2DBackpropInput is an unblocked scalar loop. Both become one product of matrices over unfolded windows
 * (Chellapilla et al. 2006), because XNNPACK's matrix product is fast.
 */

import { BatchMatMul, Conv2D, type TensorInfo, Transpose } from "@tensorflow/tfjs-core";
import { floats, inputOf, type KernelCall, runInner, viewAs, type WasmBackend } from "./heap";
import { convolutionWindow, coveredRange, type Window } from "./window";

/**
 * Unfolds x [N, H, W, C] to [N * outH * outW, h * w * C]: a row for each position of the output, with the pixels that
 * its window sees. A window's line of pixels lies together in memory and is copied as one.
 */
function unfold(x: Float32Array, out: Float32Array, window: Window): void {
  const { batch, inHeight, inWidth, channels, outHeight, outWidth, strideHeight, strideWidth } = window;
  const line = window.width * channels;
  let target = 0;
  for (let n = 0; n < batch; n++) {
    for (let row = 0; row < outHeight; row++) {
      for (let column = 0; column < outWidth; column++) {
        const left = column * strideWidth - window.left;
        const first = Math.max(-left, 0) * channels;
        const end = Math.min(inWidth - left, window.width) * channels;
        for (let fh = 0; fh < window.height; fh++, target += line) {
          const y = row * strideHeight + fh - window.top;
          if (y < 0 || y >= inHeight) {
            out.fill(0, target, target + line);
            continue;
          }
          const source = ((n * inHeight + y) * inWidth + left) * channels;
          for (let i = 0; i < first; i++) out[target + i] = 0;
          for (let i = first; i < end; i++) out[target + i] = x[source + i] as number;
          for (let i = Math.max(end, 0); i < line; i++) out[target + i] = 0;
        }
      }
    }
  }
}

/** The reverse of unfolding, with overlaps added: columns [N * outH * outW, h * w * C] to dx [N, H, W, C]. */
function fold(columns: Float32Array, dx: Float32Array, window: Window): void {
  const { batch, inHeight, inWidth, channels, outHeight, outWidth, strideHeight, strideWidth } = window;
  const width = window.height * window.width * channels;
  dx.fill(0);
  for (let n = 0; n < batch; n++) {
    for (let fh = 0; fh < window.height; fh++) {
      const rowOffset = fh - window.top;
      const [firstRow, endRow] = coveredRange(outHeight, inHeight, strideHeight, rowOffset);
      for (let row = firstRow; row < endRow; row++) {
        const line = (n * inHeight + row * strideHeight + rowOffset) * inWidth;
        for (let fw = 0; fw < window.width; fw++) {
          const columnOffset = fw - window.left;
          const [first, end] = coveredRange(outWidth, inWidth, strideWidth, columnOffset);
          for (let column = first; column < end; column++) {
            let target = (line + column * strideWidth + columnOffset) * channels;
            let source =
              ((n * outHeight + row) * outWidth + column) * width + (fh * window.width + fw) * channels;
            for (const stop = source + channels; source < stop; source++, target++) {
              dx[target] = (dx[target] as number) + (columns[source] as number);
            }
          }
        }
      }
    }
  }
}

/**
 * dW [h, w, C, K] of x [N, H, W, C] and dy [N, outH, outW, K]: the transpose of dy times the unfolded windows. This
 * order transposes only dy and the result, both small beside the windows.
 */
export function conv2DBackpropFilter(call: KernelCall): TensorInfo {
  const { backend, attrs } = call;
  const [x, dy] = [inputOf(call, "x"), inputOf(call, "dy")];
  const filterShape = attrs.filterShape as number[];
  const window = convolutionWindow(x.shape, filterShape, attrs);
  const weights = window.height * window.width * window.channels;
  const positions = window.batch * window.outHeight * window.outWidth;
  const unfolded = backend.makeOutput([1, positions, weights], "float32");
  unfold(floats(backend, x), floats(backend, unfolded), window);
  const rows = viewAs(dy, [1, positions, window.outChannels]);
  const product = runInner(
    BatchMatMul,
    backend,
    { a: rows, b: unfolded },
    { transposeA: true, transposeB: false },
  );
  backend.disposeData(unfolded.dataId);
  const dw = runInner(Transpose, backend, { x: product }, { perm: [0, 2, 1] });
  backend.disposeData(product.dataId);
  return { ...dw, shape: filterShape };
}

/** The filter turned by 180 degrees with its channels swapped: [h, w, C, K] to [h, w, K, C]. */
function turnFilter(filter: Float32Array, turned: Float32Array, window: Window): void {
  const { channels, outChannels } = window;
  const taps = window.height * window.width;
  for (let tap = 0; tap < taps; tap++) {
    const source = tap * channels * outChannels;
    const target = (taps - 1 - tap) * channels * outChannels;
    for (let c = 0; c < channels; c++) {
      for (let k = 0; k < outChannels; k++) {
        turned[target + k * channels + c] = filter[source + c * outChannels + k] as number;
      }
    }
  }
}

/** With stride 1 the gradient is itself a convolution: dy with the turned filter. */
function asConvolution(backend: WasmBackend, filter: TensorInfo, dy: TensorInfo, window: Window): TensorInfo {
  const { height, width, channels, outChannels } = window;
  const turned = backend.makeOutput([height, width, outChannels, channels], "float32");
  turnFilter(floats(backend, filter), floats(backend, turned), window);
  const [top, left] = [height - 1 - window.top, width - 1 - window.left];
  const pad = [
    [0, 0],
    [top, window.inHeight - window.outHeight + height - 1 - top],
    [left, window.inWidth - window.outWidth + width - 1 - left],
    [0, 0],
  ];
  const attrs = { strides: [1, 1], pad, dataFormat: "NHWC", dilations: [1, 1] };
  const dx = runInner(Conv2D, backend, { x: dy, filter: turned }, attrs);
  backend.disposeData(turned.dataId);
  return dx;
}

/** dx [N, H, W, C] of filter [h, w, C, K] and dy [N, outH, outW, K]. */
export function conv2DBackpropInput(call: KernelCall): TensorInfo {
  const { backend, attrs } = call;
  const [filter, dy] = [inputOf(call, "filter"), inputOf(call, "dy")];
  const inputShape = attrs.inputShape as number[];
  const window = convolutionWindow(inputShape, filter.shape, attrs);
  const fits = window.top < window.height && window.left < window.width;
  if (window.strideHeight === 1 && window.strideWidth === 1 && fits) {
    return asConvolution(backend, filter, dy, window);
  }
  const weights = window.height * window.width * window.channels;
  const positions = window.batch * window.outHeight * window.outWidth;
  const rows = viewAs(dy, [1, positions, window.outChannels]);
  const turned = viewAs(filter, [1, weights, window.outChannels]);
  const columns = runInner(
    BatchMatMul,
    backend,
    { a: rows, b: turned },
    { transposeA: false, transposeB: true },
  );
  const dx = backend.makeOutput(inputShape, "float32");
  fold(floats(backend, columns), floats(backend, dx), window);
  backend.disposeData(columns.dataId);
  return dx;
}
