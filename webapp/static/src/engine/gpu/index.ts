/** Minga's kernels for the GPU backends, in place of those of TF.js that are slower or incorrect. */

import type { MathBackendWebGL } from "@tensorflow/tfjs-backend-webgl";
import type { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";
import {
  Conv2DBackpropFilter,
  getKernel,
  type KernelFunc,
  MaxPoolGrad,
  registerKernel,
  type TensorInfo,
  unregisterKernel,
} from "@tensorflow/tfjs-core";
import { filterGradientOnWebGl } from "../webgl/filter-gradient";
import { filterGradientOnWebGpu } from "../webgpu/filter-gradient";
import { filterGradientOf } from "./filter-gradient";
import { poolGradientOf, poolGradientOnWebGl, poolGradientOnWebGpu } from "./max-pool-gradient";

/** Replaces a kernel; `make` gets the one of TF.js for unsupported cases. */
function replaceKernel(
  kernelName: string,
  backendName: string,
  make: (original: KernelFunc) => KernelFunc,
): void {
  const original = getKernel(kernelName, backendName);
  if (original === undefined) return;
  unregisterKernel(kernelName, backendName);
  registerKernel({ ...original, kernelFunc: make(original.kernelFunc) });
}

/** Installs the kernels, once the backend's own are registered. */
export function installKernels(backendName: "webgl" | "webgpu"): void {
  replaceKernel(Conv2DBackpropFilter, backendName, (original) => (call) => {
    const { inputs, attrs, backend } = call;
    const gradient = filterGradientOf(inputs as Record<string, TensorInfo>, attrs ?? {});
    if (gradient === null) return original(call);
    return backendName === "webgl"
      ? filterGradientOnWebGl(backend as MathBackendWebGL, gradient)
      : filterGradientOnWebGpu(backend as WebGPUBackend, gradient);
  });
  replaceKernel(MaxPoolGrad, backendName, () => ({ inputs, attrs, backend }) => {
    const gradient = poolGradientOf(inputs as Record<string, TensorInfo>, attrs ?? {});
    return backendName === "webgl"
      ? poolGradientOnWebGl(backend as MathBackendWebGL, gradient)
      : poolGradientOnWebGpu(backend as WebGPUBackend, gradient);
  });
}
