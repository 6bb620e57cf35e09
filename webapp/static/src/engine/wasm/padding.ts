/**
 * Paddings for the WASM backend. If the stride is longer than the filter, TF.js 4.22 lets XNNPACK compute the padding
 * of SAME, and XNNPACK shifts the windows; therefore it gets the padding in pixels.
 */

import { backend_util, type KernelConfig } from "@tensorflow/tfjs-core";
import { inputOf, type KernelCall, type WasmKernel } from "./heap";

type Sizes = [number, number];

/** The kernel that replaces `original`, a convolution of any kind. */
export function exactPadding(original: KernelConfig): WasmKernel {
  const run = original.kernelFunc as unknown as ReturnType<typeof exactPadding>;
  const depthwise = original.kernelName.includes("Depthwise");
  return (call: KernelCall) => {
    const { pad, strides, dilations } = call.attrs as { pad: unknown; strides: Sizes; dilations: Sizes };
    const [x, filter] = [inputOf(call, "x"), inputOf(call, "filter")];
    const [height = 1, width = 1] = filter.shape;
    if (pad !== "same" || (strides[0] <= height && strides[1] <= width)) return run(call);
    const shapes = [x.shape, filter.shape] as [Shape4D, Shape4D];
    const { padInfo } = backend_util.computeConv2DInfo(
      ...shapes,
      strides,
      dilations,
      pad,
      undefined,
      depthwise,
    );
    const pixels = [
      [0, 0],
      [padInfo.top, padInfo.bottom],
      [padInfo.left, padInfo.right],
      [0, 0],
    ];
    return run({ ...call, attrs: { ...call.attrs, pad: pixels } });
  };
}

type Shape4D = [number, number, number, number];
