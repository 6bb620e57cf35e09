/** Gradient of max pooling on the compiled kernel; ../pooling.ts describes the fault of TF.js' own. */

import { type TensorInfo, util } from "@tensorflow/tfjs-core";
import { inputOf, type KernelCall, type WasmKernel } from "../heap";
import { poolingWindow } from "../window";
import { geometry } from "./convolution";
import { Machine } from "./kernel-module";

/** dx [N, H, W, C] of the pooled input and dy [N, outH, outW, C]. */
export function maxPoolGrad(machine: Machine): WasmKernel {
  return (call: KernelCall) => {
    const { backend, attrs } = call;
    const [x, dy] = [inputOf(call, "input"), inputOf(call, "dy")];
    const window = poolingWindow(x.shape, attrs);
    const dx = backend.makeOutput(x.shape, "float32");
    const at = (tensor: TensorInfo) => Machine.address(backend, tensor);
    const values = [at(x), at(dy), at(dx), geometry(machine, window)];
    machine.run("maxPoolGradient", window.batch, util.sizeFromShape(x.shape) / 2, values);
    return dx;
  };
}
