/** Functions of four floats at once. Polynomials are least-maximum fits of our own, good to a unit in the last place. */

// @ts-ignore: decorator
@inline
function c(value: f32): v128 {
  return f32x4.splat(value);
}

// @ts-ignore: decorator
@inline
function step(sum: v128, x: v128, coefficient: f32): v128 {
  return f32x4.add(f32x4.mul(sum, x), c(coefficient));
}

/** 2 to the power of small whole numbers, given as integers. */
// @ts-ignore: decorator
@inline
function powerOfTwo(n: v128): v128 {
  return i32x4.shl(i32x4.add(n, i32x4.splat(127)), 23);
}

/** e to the power of x; 0 and infinity where float32 ends. */
export function exponential(x: v128): v128 {
  // The order of operands keeps NaN.
  const inside = f32x4.pmin(f32x4.pmax(x, c(-110)), c(90));
  const whole = f32x4.nearest(f32x4.mul(inside, c(1.4426950408889634)));
  // ln 2 in two parts, so that the rest is exact.
  let r = f32x4.sub(inside, f32x4.mul(whole, c(0.693359375)));
  r = f32x4.add(r, f32x4.mul(whole, c(2.12194440e-4)));
  let p = c(0.0013836838770657778);
  p = step(p, r, 0.008374815806746483);
  p = step(p, r, 0.04166822507977486);
  p = step(p, r, 0.16666419804096222);
  p = step(p, r, 0.49999991059303284);
  p = step(p, r, 1);
  p = step(p, r, 1);
  // In two steps: the largest and the smallest powers are no float32 of their own.
  const n = i32x4.trunc_sat_f32x4_s(whole);
  const half = i32x4.shr_s(n, 1);
  return f32x4.mul(f32x4.mul(p, powerOfTwo(half)), powerOfTwo(i32x4.sub(n, half)));
}

export function hyperbolicTangent(x: v128): v128 {
  const size = f32x4.abs(x);
  const square = f32x4.mul(x, x);
  let p = c(-0.005659981165081263);
  p = step(p, square, 0.02059098146855831);
  p = step(p, square, -0.05372106656432152);
  p = step(p, square, 0.13331127166748047);
  p = step(p, square, -0.3333325982093811);
  const small = f32x4.add(x, f32x4.mul(x, f32x4.mul(square, p)));
  const power = exponential(f32x4.add(size, size));
  const large = f32x4.sub(c(1), f32x4.div(c(2), f32x4.add(power, c(1))));
  const signed = v128.or(large, v128.and(x, c(-0.0)));
  return v128.bitselect(small, signed, f32x4.lt(size, c(0.625)));
}

/** The error function. */
export function errorFunction(x: v128): v128 {
  const size = f32x4.abs(x);
  const square = f32x4.mul(x, x);
  let p = c(7.853854913264513e-5);
  p = step(p, square, -0.000801019137725234);
  p = step(p, square, 0.00518832728266716);
  p = step(p, square, -0.026853810995817184);
  p = step(p, square, 0.1128358542919159);
  p = step(p, square, -0.3761262595653534);
  p = step(p, square, 1.1283791065216064);
  const small = f32x4.mul(x, p);
  const near = f32x4.pmin(size, c(4.2));
  const t = f32x4.div(c(1), f32x4.add(c(1), f32x4.mul(near, c(0.5))));
  let q = c(0.11767667531967163);
  q = step(q, t, -0.4654695987701416);
  q = step(q, t, 0.5549207925796509);
  q = step(q, t, -0.09690974652767181);
  q = step(q, t, 0.3445998728275299);
  q = step(q, t, 0.2605990171432495);
  q = step(q, t, 0.28476956486701965);
  q = step(q, t, -0.00014464292326010764);
  const rest = f32x4.mul(q, exponential(f32x4.neg(f32x4.mul(near, near))));
  const signed = v128.or(f32x4.sub(c(1), rest), v128.and(x, c(-0.0)));
  return v128.bitselect(small, signed, f32x4.lt(size, c(1)));
}

export function logistic(x: v128): v128 {
  return f32x4.div(c(1), f32x4.add(c(1), exponential(f32x4.neg(x))));
}
