/** Attributes that convolution and pooling have in common, and access to kernels without a public function. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import {
  engine,
  getBackend,
  getKernel,
  type NamedAttrMap,
  type NamedTensorMap,
  type Tensor,
} from "@tensorflow/tfjs-core";

export type Padding =
  | "valid"
  | "same"
  | [[number, number], [number, number], [number, number], [number, number]];

/** Stride or dilation as [height, width]. */
export function spatial(node: GraphNode, name: "strides" | "dilations"): [number, number] {
  const values = node.attrs[name] as number[] | undefined;
  return [values?.[1] ?? 1, values?.[2] ?? 1];
}

export function padding(node: GraphNode): Padding {
  const name = node.attrs.padding;
  if (name === "same" || name === "valid") return name;
  const [, , top = 0, bottom = 0, left = 0, right = 0] = node.attrs.explicit_paddings as number[];
  return [
    [0, 0],
    [top, bottom],
    [left, right],
    [0, 0],
  ];
}

/** Runs a backend's kernel by name. */
export function runKernel(name: string, inputs: Record<string, Tensor>, attrs: object): Tensor {
  return engine().runKernel(name, inputs as NamedTensorMap, attrs as NamedAttrMap) as Tensor;
}

/** Whether the current backend has a kernel of that name. */
export function hasKernel(name: string): boolean {
  return getKernel(name, getBackend()) !== undefined;
}
