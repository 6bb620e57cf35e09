/**
 * Elementwise ops as the compiled WASM kernels compute them: the functions of TF.js that ../ops calls for the op, in the
 * same order, so that a fused op has the same bits. Ops that are missing here are not fused there.
 */

import type { ProgramOperand } from "./program";

/** A function by the name of TF.js' kernel, and its operands. */
export interface Call {
  readonly kernel: string;
  readonly operands: readonly Term[];
}

export type Term = Call | ProgramOperand;

const call =
  (kernel: string) =>
  (...operands: readonly Term[]): Call => ({ kernel, operands });

const number = (value: number): ProgramOperand => ({ from: "constant", value });

const [add, sub, mul, div] = [call("Add"), call("Sub"), call("Multiply"), call("RealDiv")];
const [abs, erf, neg, sigmoid] = [call("Abs"), call("Erf"), call("Neg"), call("Sigmoid")];
const square = call("Square");

type UnaryForm = (x: Term) => Call;
type BinaryForm = (x: Term, y: Term) => Call;

/** Ops that are one function. */
const ALONE: Readonly<Record<string, string>> = {
  AddV2: "Add",
  BiasAdd: "Add",
  Mul: "Multiply",
  ...Object.fromEntries(["Sub", "RealDiv", "Maximum", "Minimum", "SquaredDifference"].map((op) => [op, op])),
  ...Object.fromEntries(["Abs", "Neg", "Square", "Sqrt", "Rsqrt", "Reciprocal"].map((op) => [op, op])),
  ...Object.fromEntries(["Exp", "Tanh", "Sigmoid", "Erf", "Relu", "Relu6", "ReluGrad"].map((op) => [op, op])),
};

const UNARY: Readonly<Record<string, UnaryForm>> = {
  Erfc: (x) => sub(number(1), erf(x)),
  Softsign: (x) => div(x, add(number(1), abs(x))),
};

/** Gradients, each with its operands in TensorFlow's order. */
const BINARY: Readonly<Record<string, BinaryForm>> = {
  SoftplusGrad: (dy, x) => mul(dy, sigmoid(x)),
  SoftsignGrad: (dy, x) => div(dy, square(add(number(1), abs(x)))),
  SigmoidGrad: (y, dy) => mul(dy, mul(y, sub(number(1), y))),
  TanhGrad: (y, dy) => mul(dy, sub(number(1), square(y))),
  RsqrtGrad: (y, dy) => mul(mul(dy, number(-0.5)), mul(y, square(y))),
  SqrtGrad: (y, dy) => div(mul(dy, number(0.5)), y),
  ReciprocalGrad: (y, dy) => neg(mul(dy, square(y))),
};

export const KERNEL_FORMS: Readonly<Record<string, (...operands: Term[]) => Call>> = {
  ...Object.fromEntries(Object.entries(ALONE).map(([op, kernel]) => [op, call(kernel)])),
  ...(UNARY as Record<string, (...operands: Term[]) => Call>),
  ...(BINARY as Record<string, (...operands: Term[]) => Call>),
};
