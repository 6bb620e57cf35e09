/** Kernels over rows of a table: gather, its gradient, and the gradients of bias and rectifier. */

import { backend_util, type TensorInfo } from "@tensorflow/tfjs-core";
import { floats, inputOf, integers, type KernelCall } from "./heap";

/** Sum of the rows of x [n, ...] by segment id [n]. The WASM backend of TF.js 4.22 has none. */
export function unsortedSegmentSum(call: KernelCall): TensorInfo {
  const { backend } = call;
  const [x, segmentIds] = [inputOf(call, "x"), inputOf(call, "segmentIds")];
  const numSegments = call.attrs.numSegments as number;
  const result = backend.makeOutput([numSegments, ...x.shape.slice(1)], "float32");
  const [values, ids, sums] = [floats(backend, x), integers(backend, segmentIds), floats(backend, result)];
  const width = x.shape.slice(1).reduce((product, length) => product * length, 1);
  sums.fill(0);
  for (let row = 0; row < ids.length; row++) {
    const id = ids[row] as number;
    // TensorFlow drops negative ids.
    if (id < 0 || id >= numSegments) continue;
    for (let i = 0; i < width; i++) {
      sums[id * width + i] = (sums[id * width + i] as number) + (values[row * width + i] as number);
    }
  }
  return result;
}

/** Slices of x along an axis. The backend's own kernel reads the indices back on every call to check them. */
export function gather(call: KernelCall): TensorInfo {
  const { backend, attrs } = call;
  const [x, indices] = [inputOf(call, "x"), inputOf(call, "indices")];
  const axis = (attrs.axis as number) + ((attrs.axis as number) < 0 ? x.shape.length : 0);
  const info = backend_util.segment_util.collectGatherOpShapeInfo(
    x as Parameters<typeof backend_util.segment_util.collectGatherOpShapeInfo>[0],
    indices as Parameters<typeof backend_util.segment_util.collectGatherOpShapeInfo>[1],
    axis,
    (attrs.batchDims as number | undefined) ?? 0,
  );
  const result = backend.makeOutput(info.outputShape, x.dtype);
  const source = backend.typedArrayFromHeap(x);
  const target = backend.typedArrayFromHeap(result);
  const picks = integers(backend, indices);
  const perBatch = picks.length / info.batchSize;
  let at = 0;
  for (let batch = 0; batch < info.batchSize; batch++) {
    for (let outer = 0; outer < info.outerSize; outer++) {
      const base = (batch * info.outerSize + outer) * info.dimSize;
      for (let i = 0; i < perBatch; i++, at += info.sliceSize) {
        const pick = picks[batch * perBatch + i] as number;
        if (pick < 0 || pick >= info.dimSize) continue;
        const start = (base + pick) * info.sliceSize;
        target.set(source.subarray(start, start + info.sliceSize), at);
      }
    }
  }
  return result;
}

/** Sum over all axes but the last. The backend's Sum would transpose the whole tensor first. */
export function biasAddGrad(call: KernelCall): TensorInfo {
  const { backend } = call;
  const dy = inputOf(call, "dy");
  const channels = dy.shape.at(-1) as number;
  const result = backend.makeOutput([channels], "float32");
  const values = floats(backend, dy);
  const sums = new Float64Array(channels);
  for (let row = 0; row < values.length; row += channels) {
    for (let c = 0; c < channels; c++) {
      sums[c] = (sums[c] as number) + (values[row + c] as number);
    }
  }
  floats(backend, result).set(sums);
  return result;
}

/** dy where x is positive, zero elsewhere: one pass instead of the two of Step and Multiply. */
export function reluGrad(call: KernelCall): TensorInfo {
  const { backend } = call;
  const [dy, x] = [inputOf(call, "dy"), inputOf(call, "x")];
  const result = backend.makeOutput(x.shape, "float32");
  const [gradient, inputs, dx] = [floats(backend, dy), floats(backend, x), floats(backend, result)];
  for (let i = 0; i < dx.length; i++) dx[i] = (inputs[i] as number) > 0 ? (gradient[i] as number) : 0;
  return result;
}
