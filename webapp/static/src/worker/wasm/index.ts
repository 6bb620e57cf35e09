/** Our kernels for the WASM backend: what TF.js 4.22 lacks there, has wrong, or has slow. */

import {
  BatchMatMul,
  Conv2DBackpropFilter,
  Conv2DBackpropInput,
  DepthwiseConv2dNativeBackpropFilter,
  DepthwiseConv2dNativeBackpropInput,
  GatherV2,
  getKernel,
  MaxPoolGrad,
  Slice,
  SplitV,
  StridedSlice,
  Unpack,
  UnsortedSegmentSum,
} from "@tensorflow/tfjs-core";
import { conv2DBackpropFilter, conv2DBackpropInput } from "./convolution";
import { depthwiseBackpropFilter, depthwiseBackpropInput } from "./depthwise";
import { installKernel, type WasmKernel } from "./heap";
import { batchMatMul } from "./matmul";
import { maxPoolGrad } from "./pooling";
import { biasAddGrad, gather, reluGrad, unsortedSegmentSum } from "./rows";
import { slice, splitV, stridedSlice, unpack } from "./slicing";

const KERNELS: Readonly<Record<string, WasmKernel>> = {
  [Conv2DBackpropFilter]: conv2DBackpropFilter,
  [Conv2DBackpropInput]: conv2DBackpropInput,
  [DepthwiseConv2dNativeBackpropFilter]: depthwiseBackpropFilter,
  [DepthwiseConv2dNativeBackpropInput]: depthwiseBackpropInput,
  [GatherV2]: gather,
  [MaxPoolGrad]: maxPoolGrad,
  [Slice]: slice,
  [SplitV]: splitV,
  [StridedSlice]: stridedSlice,
  [Unpack]: unpack,
  [UnsortedSegmentSum]: unsortedSegmentSum,
  BiasAddGrad: biasAddGrad,
  ReluGrad: reluGrad,
};

/** After the backend's module is loaded, before the backend starts. */
export function installKernels(): void {
  for (const [name, kernel] of Object.entries(KERNELS)) installKernel(name, kernel);
  const original = getKernel(BatchMatMul, "wasm");
  if (original !== undefined) installKernel(BatchMatMul, batchMatMul(original));
}

export { startSimd } from "./simd";
