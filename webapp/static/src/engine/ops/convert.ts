/** Numbers of one type as numbers of another. */

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
 * x as `dtype`, as TensorFlow's Cast does it. On WebGPU, TF.js 4.22 only renames whole numbers to floats, and ops that
 * copy elements (Transpose, Pad) then take their bits for floats; adding zero makes them real ones.
 */
export function convert(x: Tensor, dtype: NumberKind): Tensor {
  if (x.dtype === dtype) return x.clone();
  // The WASM backend of TF.js 4.22 cuts numbers down to bytes instead.
  if (dtype === "bool") return notEqual(x, 0);
  const converted = cast(x, dtype);
  return dtype === "float32" && getBackend() === "webgpu" ? add(converted, 0) : converted;
}

/** -1, 0 or 1. The WASM backend of TF.js 4.22 takes numbers below 1e-7 or so for 0. */
function signOf(x: Tensor): Tensor {
  if (getBackend() !== "wasm" || x.dtype !== "float32") return sign(x);
  return sub(cast(greater(x, 0), "float32"), cast(less(x, 0), "float32"));
}

export const conversion: Family = {
  Cast: (node) => convert(input(node, 0), node.attrs.DstT as NumberKind),
  Sign: (node) => signOf(input(node, 0)),
};
