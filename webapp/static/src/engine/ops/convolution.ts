/** Gradients of convolutions. Those of the WASM backend are in ../wasm/. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import {
  Conv2DBackpropFilter,
  Conv2DBackpropInput,
  DepthwiseConv2dNativeBackpropFilter,
  DepthwiseConv2dNativeBackpropInput,
} from "@tensorflow/tfjs-core";
import { constant } from "../constant-inputs";
import { padding, runKernel, spatial } from "./attributes";
import { type Family, input, type Op, requireChannelsLast } from "./types";

function window(node: GraphNode) {
  requireChannelsLast(node);
  if (spatial(node, "dilations").some((dilation) => dilation !== 1)) {
    throw new Error("The graph trains a dilated convolution, which TF.js cannot; use dilation_rate=1.");
  }
  return { strides: spatial(node, "strides"), pad: padding(node), dataFormat: "NHWC", dilations: [1, 1] };
}

/** Inputs in the graph: shape of the convolution's input, filter, dy. */
function backpropInput(kernel: string): Op {
  return (node) => {
    const attrs = { ...window(node), inputShape: constant(node.inputs[0]) };
    return runKernel(kernel, { filter: input(node, 1), dy: input(node, 2) }, attrs);
  };
}

/** Inputs in the graph: the convolution's input, shape of the filter, dy. */
function backpropFilter(kernel: string): Op {
  return (node) => {
    const attrs = { ...window(node), filterShape: constant(node.inputs[1]) };
    return runKernel(kernel, { x: input(node, 0), dy: input(node, 2) }, attrs);
  };
}

export const convolution: Family = {
  Conv2DBackpropInput: backpropInput(Conv2DBackpropInput),
  Conv2DBackpropFilter: backpropFilter(Conv2DBackpropFilter),
  DepthwiseConv2dNativeBackpropInput: backpropInput(DepthwiseConv2dNativeBackpropInput),
  DepthwiseConv2dNativeBackpropFilter: backpropFilter(DepthwiseConv2dNativeBackpropFilter),
};
