/** Minga's kernels for the WASM backend: ops that TF.js 4.22 lacks there, computes incorrectly, or slowly. */

import {
  BatchMatMul,
  Conv2D,
  Conv2DBackpropFilter,
  Conv2DBackpropInput,
  DepthwiseConv2dNative,
  DepthwiseConv2dNativeBackpropFilter,
  DepthwiseConv2dNativeBackpropInput,
  FusedConv2D,
  FusedDepthwiseConv2D,
  GatherV2,
  getKernel,
  type KernelConfig,
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
import { exactPadding } from "./padding";
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

/** Kernels of the backend that are correct with corrected arguments. */
const WRAPPERS: Readonly<Record<string, (original: KernelConfig) => WasmKernel>> = {
  [BatchMatMul]: batchMatMul,
  [Conv2D]: exactPadding,
  [DepthwiseConv2dNative]: exactPadding,
  [FusedConv2D]: exactPadding,
  [FusedDepthwiseConv2D]: exactPadding,
};

/** Installs the kernels; after the backend's module is loaded, before the backend starts. */
export function installKernels(): void {
  for (const [name, kernel] of Object.entries(KERNELS)) installKernel(name, kernel);
  for (const [name, wrapper] of Object.entries(WRAPPERS)) {
    const original = getKernel(name, "wasm");
    if (original !== undefined) installKernel(name, wrapper(original));
  }
}

export { startSimd } from "./simd";
