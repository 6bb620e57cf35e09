/** Converts numbers between types. */

import {
  add,
  cast,
  getBackend,
  greater,
  less,
  notEqual,
  sign,
  sub,
  type Tensor,
} from "@tensorflow/tfjs-core";
import { type Family, input } from "./types";

export type NumberKind = "float32" | "int32" | "bool";

/**
 * Converts x to `dtype`, as TensorFlow's Cast does. On WebGPU, TF.js 4.22 only relabels integers as floats, and ops
 * that copy elements (Transpose, Pad) then read their bits as floats; adding zero converts them.
 */
export function convert(x: Tensor, dtype: NumberKind): Tensor {
  if (x.dtype === dtype) return x.clone();
  // The WASM backend of TF.js 4.22 truncates numbers to bytes instead.
  if (dtype === "bool") return notEqual(x, 0);
  const converted = cast(x, dtype);
  return dtype === "float32" && getBackend() === "webgpu" ? add(converted, 0) : converted;
}

/** Returns -1, 0 or 1. The WASM backend of TF.js 4.22 treats numbers below about 1e-7 as 0. */
function signOf(x: Tensor): Tensor {
  if (getBackend() !== "wasm" || x.dtype !== "float32") return sign(x);
  return sub(cast(greater(x, 0), "float32"), cast(less(x, 0), "float32"));
}

export const conversion: Family = {
  Cast: (node) => convert(input(node, 0), node.attrs.DstT as NumberKind),
  Sign: (node) => signOf(input(node, 0)),
};
