/** Gradients of activations and of elementwise functions, and the elementwise functions that TF.js lacks. */

import {
  abs,
  add,
  div,
  erf,
  floor,
  floorDiv,
  greater,
  less,
  log,
  mul,
  neg,
  notEqual,
  scalar,
  sigmoid,
  sqrt,
  square,
  step,
  sub,
  sum,
  type Tensor,
  where,
  zerosLike,
} from "@tensorflow/tfjs-core";
import { type Family, input, type Op } from "./family";

/** An op of the gradient dy and one other tensor, given in this order: (y or x, dy). */
function ofValueThenGradient(gradient: (value: Tensor, dy: Tensor) => Tensor): Op {
  return (node) => gradient(input(node, 0), input(node, 1));
}

/** The same where the graph has dy first. */
function ofGradientThenValue(gradient: (value: Tensor, dy: Tensor) => Tensor): Op {
  return (node) => gradient(input(node, 1), input(node, 0));
}

const SELU_ALPHA = 1.6732632423543772;
const SELU_SCALE = 1.0507009873554805;

function seluGrad(y: Tensor, dy: Tensor): Tensor {
  const negative = add(y, SELU_ALPHA * SELU_SCALE);
  return mul(dy, where(greater(y, 0), scalar(SELU_SCALE), negative));
}

function eluGrad(y: Tensor, dy: Tensor): Tensor {
  return mul(dy, where(greater(y, 0), scalar(1), add(y, 1)));
}

/** Horner's rule; coefficients from the highest power down. */
function polynomial(x: Tensor, coefficients: readonly number[]): Tensor {
  const [first = 0, ...rest] = coefficients;
  let value: Tensor = add(zerosLike(x), first);
  for (const coefficient of rest) value = add(mul(value, x), coefficient);
  return value;
}

// Giles 2012, "Approximating the erfinv function", single precision, table 5.
const ERFINV_CENTRE = [
  2.81022636e-8, 3.43273939e-7, -3.5233877e-6, -4.39150654e-6, 0.00021858087, -0.00125372503, -0.00417768164,
  0.246640727, 1.50140941,
];
const ERFINV_TAIL = [
  -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
  1.00167406, 2.83297682,
];

function erfinv(x: Tensor): Tensor {
  const w = neg(log(mul(sub(1, x), add(1, x))));
  const centre = polynomial(sub(w, 2.5), ERFINV_CENTRE);
  const tail = polynomial(sub(sqrt(abs(w)), 3), ERFINV_TAIL);
  return mul(x, where(less(w, 5), centre, tail));
}

export const activation: Family = {
  ReluGrad: ofGradientThenValue((x, dy) => mul(dy, step(x))),
  Relu6Grad: ofGradientThenValue((x, dy) => mul(dy, mul(step(x), step(sub(6, x))))),
  LeakyReluGrad: (node) => {
    const slope = Number(node.attrs.alpha ?? 0.2);
    return mul(input(node, 0), step(input(node, 1), slope));
  },
  EluGrad: ofGradientThenValue(eluGrad),
  SeluGrad: ofGradientThenValue(seluGrad),
  SoftplusGrad: ofGradientThenValue((x, dy) => mul(dy, sigmoid(x))),
  SoftsignGrad: ofGradientThenValue((x, dy) => div(dy, square(add(1, abs(x))))),
  SigmoidGrad: ofValueThenGradient((y, dy) => mul(dy, mul(y, sub(1, y)))),
  TanhGrad: ofValueThenGradient((y, dy) => mul(dy, sub(1, square(y)))),
  RsqrtGrad: ofValueThenGradient((y, dy) => mul(mul(dy, -0.5), mul(y, square(y)))),
  SqrtGrad: ofValueThenGradient((y, dy) => div(mul(dy, 0.5), y)),
  ReciprocalGrad: ofValueThenGradient((y, dy) => neg(mul(dy, square(y)))),
  InvGrad: ofValueThenGradient((y, dy) => neg(mul(dy, square(y)))),
  FloorDiv: (node) => {
    const [x, y] = [input(node, 0), input(node, 1)];
    // TF.js calls every result of this op an integer.
    return x.dtype === "int32" ? floorDiv(x, y) : floor(div(x, y));
  },
  Erfc: (node) => sub(1, erf(input(node, 0))),
  Erfinv: (node) => erfinv(input(node, 0)),
  Inv: (node) => div(1, input(node, 0)),
  Softsign: (node) => div(input(node, 0), add(1, abs(input(node, 0)))),
  L2Loss: (node) => mul(sum(square(input(node, 0))), 0.5),
  Xlogy: (node) => {
    const x = input(node, 0);
    return where(notEqual(x, 0), mul(x, log(input(node, 1))), zerosLike(x));
  },
  Xdivy: (node) => {
    const x = input(node, 0);
    return where(notEqual(x, 0), div(x, input(node, 1)), zerosLike(x));
  },
  MulNoNan: (node) => {
    const [x, y] = [input(node, 0), input(node, 1)];
    return where(notEqual(y, 0), mul(x, y), zerosLike(mul(x, y)));
  },
};
