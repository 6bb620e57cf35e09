/** Functions of each element of a tensor, of two tensors that broadcast, and choices between two. */

import { errorFunction, exponential, hyperbolicTangent, logistic } from "./functions";

// Functions are types here: AssemblyScript compiles generic code once for each type, with its tests decided.
class Absolute {}
class Negate {}
class Square {}
class Root {}
class InverseRoot {}
class Reciprocal {}
class Exponential {}
class Tangent {}
class Logistic {}
class Error {}
class Rectify {}
class RectifyToSix {}

// @ts-ignore: decorator
@inline
function unary<F>(x: v128): v128 {
  if (idof<F>() == idof<Absolute>()) return f32x4.abs(x);
  if (idof<F>() == idof<Negate>()) return f32x4.neg(x);
  if (idof<F>() == idof<Square>()) return f32x4.mul(x, x);
  if (idof<F>() == idof<Root>()) return f32x4.sqrt(x);
  if (idof<F>() == idof<InverseRoot>()) return f32x4.div(f32x4.splat(1), f32x4.sqrt(x));
  if (idof<F>() == idof<Reciprocal>()) return f32x4.div(f32x4.splat(1), x);
  if (idof<F>() == idof<Exponential>()) return exponential(x);
  if (idof<F>() == idof<Tangent>()) return hyperbolicTangent(x);
  if (idof<F>() == idof<Logistic>()) return logistic(x);
  if (idof<F>() == idof<Error>()) return errorFunction(x);
  if (idof<F>() == idof<Rectify>()) return f32x4.pmax(x, f32x4.splat(0));
  return f32x4.pmin(f32x4.pmax(x, f32x4.splat(0)), f32x4.splat(6));
}

function mapAll<F>(x: usize, out: usize, i: usize, last: usize): void {
  for (; i + 16 <= last; i += 16) v128.store(out + i, unary<F>(v128.load(x + i)));
  for (; i < last; i += 4) {
    store<f32>(out + i, f32x4.extract_lane(unary<F>(v128.load_splat<f32>(x + i)), 0));
  }
}

/** out = op(x), elements [begin, end). `op` counts as engine/wasm/simd/elementwise.ts does. */
export function map(op: i32, x: usize, out: usize, begin: i32, end: i32): void {
  const first = <usize>begin << 2;
  const last = <usize>end << 2;
  switch (op) {
    case 0: return mapAll<Absolute>(x, out, first, last);
    case 1: return mapAll<Negate>(x, out, first, last);
    case 2: return mapAll<Square>(x, out, first, last);
    case 3: return mapAll<Root>(x, out, first, last);
    case 4: return mapAll<InverseRoot>(x, out, first, last);
    case 5: return mapAll<Reciprocal>(x, out, first, last);
    case 6: return mapAll<Exponential>(x, out, first, last);
    case 7: return mapAll<Tangent>(x, out, first, last);
    case 8: return mapAll<Logistic>(x, out, first, last);
    case 9: return mapAll<Error>(x, out, first, last);
    case 10: return mapAll<Rectify>(x, out, first, last);
    case 11: return mapAll<RectifyToSix>(x, out, first, last);
    default: unreachable();
  }
}

class Add {}
class Subtract {}
class Multiply {}
class Divide {}
class Maximum {}
class Minimum {}
class SquaredDifference {}
/** The first where the second is positive: the gradient of a rectifier. */
class WherePositive {}

// @ts-ignore: decorator
@inline
function binary<F>(a: v128, b: v128): v128 {
  if (idof<F>() == idof<Add>()) return f32x4.add(a, b);
  if (idof<F>() == idof<Subtract>()) return f32x4.sub(a, b);
  if (idof<F>() == idof<Multiply>()) return f32x4.mul(a, b);
  if (idof<F>() == idof<Divide>()) return f32x4.div(a, b);
  if (idof<F>() == idof<Maximum>()) return f32x4.max(a, b);
  if (idof<F>() == idof<Minimum>()) return f32x4.min(a, b);
  if (idof<F>() == idof<WherePositive>()) return v128.and(a, f32x4.gt(b, f32x4.splat(0)));
  const difference = f32x4.sub(a, b);
  return f32x4.mul(difference, difference);
}

/** `length` bytes of one row; an operand without a step is one number for all. */
// @ts-ignore: decorator
@inline
function row<F>(a: usize, stepA: i32, b: usize, stepB: i32, out: usize, length: usize): void {
  let i: usize = 0;
  const whole = length & ~15;
  if (stepA != 0 && stepB != 0) {
    for (; i < whole; i += 16) v128.store(out + i, binary<F>(v128.load(a + i), v128.load(b + i)));
  } else if (stepB == 0) {
    const all = v128.load_splat<f32>(b);
    for (; i < whole; i += 16) v128.store(out + i, binary<F>(v128.load(a + i), all));
  } else {
    const all = v128.load_splat<f32>(a);
    for (; i < whole; i += 16) v128.store(out + i, binary<F>(all, v128.load(b + i)));
  }
  for (; i < length; i += 4) {
    const left = v128.load_splat<f32>(stepA != 0 ? a + i : a);
    const right = v128.load_splat<f32>(stepB != 0 ? b + i : b);
    store<f32>(out + i, f32x4.extract_lane(binary<F>(left, right), 0));
  }
}

/** Sizes and steps (in bytes) of four axes, the last one innermost. */
@unmanaged
class Axes {
  size0: i32;
  size1: i32;
  size2: i32;
  size3: i32;
  a0: i32;
  a1: i32;
  a2: i32;
  a3: i32;
  b0: i32;
  b1: i32;
  b2: i32;
  b3: i32;
}

function combineAll<F>(a: usize, b: usize, out: usize, axes: Axes, begin: i32, end: i32): void {
  if (axes.size0 * axes.size1 * axes.size2 == 1) {
    // One row: the range counts its elements.
    const from = <usize>begin << 2;
    const left = axes.a3 != 0 ? a + from : a;
    const right = axes.b3 != 0 ? b + from : b;
    row<F>(left, axes.a3, right, axes.b3, out + from, <usize>(end - begin) << 2);
    return;
  }
  const length = <usize>axes.size3 << 2;
  let k = begin % axes.size2;
  let j = (begin / axes.size2) % axes.size1;
  let i = begin / (axes.size2 * axes.size1);
  for (let n = begin; n < end; n++) {
    const left = a + i * axes.a0 + j * axes.a1 + k * axes.a2;
    const right = b + i * axes.b0 + j * axes.b1 + k * axes.b2;
    row<F>(left, axes.a3, right, axes.b3, out + <usize>n * length, length);
    if (++k == axes.size2) {
      k = 0;
      if (++j == axes.size1) {
        j = 0;
        i++;
      }
    }
  }
}

/** out = op(a, b) for rows [begin, end) along the last axis; if there is one row only, for its elements. `op` as there. */
export function combine(op: i32, a: usize, b: usize, out: usize, shape: usize, begin: i32, end: i32): void {
  const axes = changetype<Axes>(shape);
  switch (op) {
    case 0: return combineAll<Add>(a, b, out, axes, begin, end);
    case 1: return combineAll<Subtract>(a, b, out, axes, begin, end);
    case 2: return combineAll<Multiply>(a, b, out, axes, begin, end);
    case 3: return combineAll<Divide>(a, b, out, axes, begin, end);
    case 4: return combineAll<Maximum>(a, b, out, axes, begin, end);
    case 5: return combineAll<Minimum>(a, b, out, axes, begin, end);
    case 6: return combineAll<SquaredDifference>(a, b, out, axes, begin, end);
    case 7: return combineAll<WherePositive>(a, b, out, axes, begin, end);
    default: unreachable();
  }
}

/** out = op(a, b) for `length` bytes of one row; an operand without a step is one number for all. `op` as there. */
export function combineRow(
  op: i32,
  a: usize,
  stepA: i32,
  b: usize,
  stepB: i32,
  out: usize,
  length: usize,
): void {
  switch (op) {
    case 0: return row<Add>(a, stepA, b, stepB, out, length);
    case 1: return row<Subtract>(a, stepA, b, stepB, out, length);
    case 2: return row<Multiply>(a, stepA, b, stepB, out, length);
    case 3: return row<Divide>(a, stepA, b, stepB, out, length);
    case 4: return row<Maximum>(a, stepA, b, stepB, out, length);
    case 5: return row<Minimum>(a, stepA, b, stepB, out, length);
    case 6: return row<SquaredDifference>(a, stepA, b, stepB, out, length);
    case 7: return row<WherePositive>(a, stepA, b, stepB, out, length);
    default: unreachable();
  }
}
