/**
 * Elementwise ops in two forms: as an expression of a generated shader, and as a JavaScript function for values that
 * never leave the processor.
 *
 * Expressions use the functions that GLSL and WGSL share and those of their preludes (see glsl.ts, wgsl.ts): `V` is
 * the type of a value, one or four floats; true is 1.0, false 0.0.
 */

import { cos, exp, expm1, log, log1p, logistic, pow, sin, tanh } from "../../core/numerics/elementary";

export interface Arithmetic {
  /** Expression over the operands, which are names or literals. Missing if GPUs are not exact enough. */
  readonly device?: (operands: readonly string[], alpha: number) => string;
  /** The same in float64; the caller rounds to float32. */
  readonly host?: (operands: readonly number[]) => number;
  /** The result is true or false. */
  readonly truth?: true;
}

type Unary = (x: string) => string;
type BinaryOp = (x: string, y: string) => string;
const NONE = "V(0.0)";

function unary(device: Unary, host?: (x: number) => number): Arithmetic {
  return {
    device: ([x = NONE]) => device(x),
    ...(host && { host: ([x = 0]) => host(x) }),
  };
}

function binary(device: BinaryOp, host?: (x: number, y: number) => number): Arithmetic {
  return {
    device: ([x = NONE, y = NONE]) => device(x, y),
    ...(host && { host: ([x = 0, y = 0]) => host(x, y) }),
  };
}

function relation(word: string, host: (x: number, y: number) => boolean): Arithmetic {
  return {
    ...binary(
      (x, y) => `${word}(${x}, ${y})`,
      (x, y) => Number(host(x, y)),
    ),
    truth: true,
  };
}

/** Whole and half powers of constants are products and roots, which are exact where `pow` is not. */
function power(x: string, y: string): string {
  const factors = /^V\((\d)\.0\)$/.exec(y)?.[1];
  if (factors === "1") return x;
  if (factors === "2" || factors === "3") return `(${new Array(Number(factors)).fill(x).join(" * ")})`;
  if (y === "V(0.5)") return `sqrt(${x})`;
  return `power(${x}, ${y})`;
}

const SELU_ALPHA = 1.6732632423543772;
const SELU_SCALE = 1.0507009873554805;
const SCALED_ALPHA = `V(${SELU_ALPHA * SELU_SCALE})`;

export const ARITHMETIC: Readonly<Record<string, Arithmetic>> = {
  AddV2: binary(
    (x, y) => `(${x} + ${y})`,
    (x, y) => x + y,
  ),
  Sub: binary(
    (x, y) => `(${x} - ${y})`,
    (x, y) => x - y,
  ),
  Mul: binary(
    (x, y) => `(${x} * ${y})`,
    (x, y) => x * y,
  ),
  RealDiv: binary(
    (x, y) => `(${x} / ${y})`,
    (x, y) => x / y,
  ),
  DivNoNan: binary(
    (x, y) => `pick(eq(${y}, V(0.0)), V(0.0), ${x} / ${y})`,
    (x, y) => (y === 0 ? 0 : x / y),
  ),
  Maximum: binary((x, y) => `larger(${x}, ${y})`, Math.max),
  Minimum: binary((x, y) => `smaller(${x}, ${y})`, Math.min),
  SquaredDifference: binary(
    (x, y) => `((${x} - ${y}) * (${x} - ${y}))`,
    (x, y) => (x - y) * (x - y),
  ),
  Pow: binary(power, pow),
  BiasAdd: binary((x, y) => `(${x} + ${y})`),
  AddN: {
    device: (operands) => `(${operands.join(" + ")})`,
    host: (operands) => operands.reduce((sum, x) => sum + x, 0),
  },

  Neg: unary(
    (x) => `(-${x})`,
    (x) => -x,
  ),
  Abs: unary((x) => `abs(${x})`, Math.abs),
  Sign: unary((x) => `sign(${x})`, Math.sign),
  Square: unary(
    (x) => `(${x} * ${x})`,
    (x) => x * x,
  ),
  Sqrt: unary((x) => `sqrt(${x})`, Math.sqrt),
  Rsqrt: unary(
    (x) => `(V(1.0) / sqrt(${x}))`,
    (x) => 1 / Math.sqrt(x),
  ),
  Reciprocal: unary(
    (x) => `(V(1.0) / ${x})`,
    (x) => 1 / x,
  ),
  Exp: unary((x) => `exp(${x})`, exp),
  Expm1: unary((x) => `expMinusOne(${x})`, expm1),
  Log: unary((x) => `logarithm(${x})`, log),
  Log1p: unary((x) => `logOnePlus(${x})`, log1p),
  Floor: unary((x) => `floor(${x})`, Math.floor),
  Ceil: unary((x) => `ceil(${x})`, Math.ceil),
  Cos: { host: ([x = 0]) => cos(x) },
  Sin: { host: ([x = 0]) => sin(x) },
  Tanh: unary((x) => `hyperbolicTangent(${x})`, tanh),
  Sigmoid: unary((x) => `(V(1.0) / (V(1.0) + exp(-${x})))`, logistic),
  Erf: unary((x) => `errorFunction(${x})`),
  Erfc: unary((x) => `(V(1.0) - errorFunction(${x}))`),
  Relu: unary(
    (x) => `pick(lt(${x}, V(0.0)), V(0.0), ${x})`,
    (x) => (x < 0 ? 0 : x),
  ),
  Relu6: unary((x) => `smaller(pick(lt(${x}, V(0.0)), V(0.0), ${x}), V(6.0))`),
  LeakyRelu: {
    device: ([x = NONE], alpha) => `pick(lt(${x}, V(0.0)), ${x} * V(${alpha.toExponential()}), ${x})`,
  },
  Elu: unary((x) => `pick(lt(${x}, V(0.0)), expMinusOne(${x}), ${x})`),
  Selu: unary((x) => `pick(lt(${x}, V(0.0)), ${SCALED_ALPHA} * expMinusOne(${x}), V(${SELU_SCALE}) * ${x})`),
  Softplus: unary((x) => `softplus(${x})`),
  Softsign: unary((x) => `(${x} / (V(1.0) + abs(${x})))`),

  // Gradients, each with its operands in TensorFlow's order.
  ReluGrad: binary((dy, x) => `pick(gt(${x}, V(0.0)), ${dy}, V(0.0))`),
  Relu6Grad: binary((dy, x) => `pick(gt(${x}, V(0.0)) * lt(${x}, V(6.0)), ${dy}, V(0.0))`),
  LeakyReluGrad: {
    device: ([dy = NONE, x = NONE], alpha) =>
      `pick(gt(${x}, V(0.0)), ${dy}, ${dy} * V(${alpha.toExponential()}))`,
  },
  EluGrad: binary((dy, y) => `pick(lt(${y}, V(0.0)), ${dy} * (${y} + V(1.0)), ${dy})`),
  SeluGrad: binary((dy, y) => `(${dy} * pick(lt(${y}, V(0.0)), ${y} + ${SCALED_ALPHA}, V(${SELU_SCALE})))`),
  SoftplusGrad: binary((dy, x) => `(${dy} / (V(1.0) + exp(-${x})))`),
  SoftsignGrad: binary((dy, x) => `(${dy} / ((V(1.0) + abs(${x})) * (V(1.0) + abs(${x}))))`),
  SigmoidGrad: binary((y, dy) => `(${dy} * ${y} * (V(1.0) - ${y}))`),
  TanhGrad: binary((y, dy) => `(${dy} * (V(1.0) - ${y} * ${y}))`),
  RsqrtGrad: binary((y, dy) => `(V(-0.5) * ${dy} * ${y} * ${y} * ${y})`),
  SqrtGrad: binary((y, dy) => `(V(0.5) * ${dy} / ${y})`),
  ReciprocalGrad: binary((y, dy) => `(-${dy} * ${y} * ${y})`),

  Greater: relation("gt", (x, y) => x > y),
  GreaterEqual: relation("ge", (x, y) => x >= y),
  Less: relation("lt", (x, y) => x < y),
  LessEqual: relation("le", (x, y) => x <= y),
  Equal: relation("eq", (x, y) => x === y),
  NotEqual: relation("ne", (x, y) => x !== y),
  LogicalAnd: {
    ...binary(
      (x, y) => `(${x} * ${y})`,
      (x, y) => x * y,
    ),
    truth: true,
  },
  LogicalOr: { ...binary((x, y) => `max(${x}, ${y})`, Math.max), truth: true },
  LogicalNot: {
    ...unary(
      (x) => `(V(1.0) - ${x})`,
      (x) => 1 - x,
    ),
    truth: true,
  },
  SelectV2: {
    device: ([c = NONE, x = NONE, y = NONE]) => `pick(${c}, ${x}, ${y})`,
    host: ([c = 0, x = 0, y = 0]) => (c === 0 ? y : x),
  },
};

/** Ops whose result is their first input, perhaps repeated along axes of length one. */
export const COPIES = new Set([
  "Identity",
  "StopGradient",
  "Cast",
  "BroadcastTo",
  "Tile",
  "Reshape",
  "Squeeze",
  "ExpandDims",
]);
