/** Gradients of activations and of elementwise functions, and the elementwise functions that TF.js lacks. */

import {
  abs,
  add,
  div,
  erf,
  less,
  mul,
  neg,
  reshape,
  scalar,
  sigmoid,
  square,
  step,
  sub,
  type Tensor,
  where,
} from "@tensorflow/tfjs-core";
import { hasKernel, runKernel } from "./attributes";
import { type Family, input, type Op } from "./types";

/** An op of two inputs in this order: another tensor (y or x), then the gradient dy. */
function ofValueThenGradient(gradient: (value: Tensor, dy: Tensor) => Tensor): Op {
  return (node) => gradient(input(node, 0), input(node, 1));
}

/** An op of the same two inputs, with dy first. */
function ofGradientThenValue(gradient: (value: Tensor, dy: Tensor) => Tensor): Op {
  return (node) => gradient(input(node, 1), input(node, 0));
}

/**
 * Runs an elementwise op on tensors of one shape as vectors: TF.js 4.22 selects (`where`) on WebGL and WebGPU up to four
 * dimensions only.
 */
function flat(gradient: (value: Tensor, dy: Tensor) => Tensor): (value: Tensor, dy: Tensor) => Tensor {
  return (value, dy) => reshape(gradient(reshape(value, [-1]), reshape(dy, [-1])), value.shape);
}

const SELU_ALPHA = 1.6732632423543772;
const SELU_SCALE = 1.0507009873554805;

function seluGrad(y: Tensor, dy: Tensor): Tensor {
  const negative = add(y, SELU_ALPHA * SELU_SCALE);
  return mul(dy, where(less(y, 0), negative, scalar(SELU_SCALE)));
}

function eluGrad(y: Tensor, dy: Tensor): Tensor {
  return mul(dy, where(less(y, 0), add(y, 1), scalar(1)));
}

export const activation: Family = {
  ReluGrad: ofGradientThenValue((x, dy) =>
    hasKernel("ReluGrad") ? runKernel("ReluGrad", { dy, x }, {}) : mul(dy, step(x)),
  ),
  Relu6Grad: ofGradientThenValue((x, dy) => mul(dy, mul(step(x), step(sub(6, x))))),
  LeakyReluGrad: (node) => {
    const slope = Number(node.attrs.alpha ?? 0.2);
    return mul(input(node, 0), step(input(node, 1), slope));
  },
  EluGrad: ofGradientThenValue(flat(eluGrad)),
  SeluGrad: ofGradientThenValue(flat(seluGrad)),
  SoftplusGrad: ofGradientThenValue((x, dy) => mul(dy, sigmoid(x))),
  SoftsignGrad: ofGradientThenValue((x, dy) => div(dy, square(add(1, abs(x))))),
  SigmoidGrad: ofValueThenGradient((y, dy) => mul(dy, mul(y, sub(1, y)))),
  TanhGrad: ofValueThenGradient((y, dy) => mul(dy, sub(1, square(y)))),
  RsqrtGrad: ofValueThenGradient((y, dy) => mul(mul(dy, -0.5), mul(y, square(y)))),
  SqrtGrad: ofValueThenGradient((y, dy) => div(mul(dy, 0.5), y)),
  ReciprocalGrad: ofValueThenGradient((y, dy) => neg(mul(dy, square(y)))),
  Erfc: (node) => sub(1, erf(input(node, 0))),
  Softsign: (node) => div(input(node, 0), add(1, abs(input(node, 0)))),
};
