/**
 * Elementary functions of single float64 numbers by additions, products, quotients and square roots alone.
 *
 * IEEE 754 fixes the last bit of those, while each engine chooses that of `Math.exp` and its kin, and of `**`, within
 * an ulp or so. Results lie within 1e-14, relative to what `Math` gives (for `sin` and `cos` absolute); those of `pow`
 * within 2^-51 times the result's logarithm, if that is more.
 */

const EXPONENT_BIAS = 1023;
const FRACTION_BITS = 52;

/** ln 2 in two parts: a whole number below 2048 times the first is exact. */
const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;

/** Terms of the series of exp for |x| <= ln 2 / 2: the next is below 2e-22. */
const EXP_TERMS = 16;
/** Terms of the series of artanh for |x| <= 3 - 2 * sqrt(2): the next is below 1e-18. */
const LOG_TERMS = 12;
/** Terms of the series of sine and cosine for |x| <= pi / 4: the next is below 1e-19. */
const CIRCLE_TERMS = 9;

/** pi / 2 in parts: a whole number of at most 24 bits times each of the first three is exact. */
const HALF_PI = [1.570796325802803, 9.920935774287987e-10, 2.2517417706346578e-18, 3.5215598651832e-27];
/** From here on one needs more of pi than HALF_PI has. */
const LARGEST_ANGLE = 1 << 24;

const view = new DataView(new ArrayBuffer(8));

/** Returns 2 to the whole number `power`; beyond float64's range 0 or infinity. */
function powerOfTwo(power: number): number {
  if (power > EXPONENT_BIAS) return Infinity;
  if (power <= -EXPONENT_BIAS) {
    // Subnormal numbers.
    return power < -1074 ? 0 : powerOfTwo(power + FRACTION_BITS) / powerOfTwo(FRACTION_BITS);
  }
  view.setUint32(0, (power + EXPONENT_BIAS) << 20);
  view.setUint32(4, 0);
  return view.getFloat64(0);
}

/** Returns `x` times 2 to the whole number `power`, without an overflow or underflow on the way. */
function scaled(x: number, power: number): number {
  const half = Math.floor(power / 2);
  return x * powerOfTwo(half) * powerOfTwo(power - half);
}

/** Splits a positive, finite number into a fraction in [sqrt(1/2), sqrt(2)) and a power of two. */
function split(x: number): [fraction: number, power: number] {
  const isSubnormal = x < powerOfTwo(1 - EXPONENT_BIAS);
  view.setFloat64(0, isSubnormal ? x * powerOfTwo(FRACTION_BITS) : x);
  const high = view.getUint32(0);
  let power = (high >>> 20) - EXPONENT_BIAS - (isSubnormal ? FRACTION_BITS : 0);
  view.setUint32(0, (high & 0xfffff) | (EXPONENT_BIAS << 20));
  let fraction = view.getFloat64(0);
  if (fraction >= Math.SQRT2) {
    fraction /= 2;
    power += 1;
  }
  return [fraction, power];
}

/** Returns exp(x) - 1 for |x| <= ln 2 / 2, by Taylor's series. */
function smallExpm1(x: number): number {
  let sum = 0;
  for (let term = EXP_TERMS; term >= 2; term--) sum = ((1 + sum) * x) / term;
  return x + x * sum;
}

/** Splits `x` into a multiple of ln 2 and a remainder of at most ln 2 / 2. */
function multiplesOfLn2(x: number): [power: number, remainder: number] {
  const power = Math.round(x / LN2_HIGH);
  return [power, x - power * LN2_HIGH - power * LN2_LOW];
}

export function exp(x: number): number {
  if (Number.isNaN(x)) return x;
  if (x > 710) return Infinity;
  if (x < -746) return 0;
  const [power, remainder] = multiplesOfLn2(x);
  return scaled(1 + smallExpm1(remainder), power);
}

export function expm1(x: number): number {
  if (x === 0) return x;
  if (!(Math.abs(x) < 40)) return exp(x) - 1;
  const [power, remainder] = multiplesOfLn2(x);
  const factor = powerOfTwo(power);
  return factor * smallExpm1(remainder) + (factor - 1);
}

/** Returns log((1 + x) / (1 - x)) for small x. */
function logOfRatio(x: number): number {
  const square = x * x;
  let sum = 0;
  for (let term = LOG_TERMS; term >= 1; term--) sum = (sum + 1 / (2 * term + 1)) * square;
  return 2 * (x + x * sum);
}

export function log(x: number): number {
  if (x === 0) return -Infinity;
  if (!(x > 0)) return NaN;
  if (x === Infinity) return x;
  const [fraction, power] = split(x);
  return power * LN2_HIGH + (power * LN2_LOW + logOfRatio((fraction - 1) / (fraction + 1)));
}

export function log1p(x: number): number {
  if (Math.abs(x) < 1e-300) return x;
  return Math.abs(x) < 0.25 ? logOfRatio(x / (2 + x)) : log(1 + x);
}

export function tanh(x: number): number {
  if (x === 0) return x;
  if (Math.abs(x) > 22) return Math.sign(x);
  const grown = expm1(2 * Math.abs(x));
  return (Math.sign(x) * grown) / (grown + 2);
}

export function logistic(x: number): number {
  return 1 / (1 + exp(-x));
}

/** Returns `x` to the whole number `power` >= 0, by squaring. */
function wholePower(x: number, power: number): number {
  let product = 1;
  for (let square = x, left = power; left > 0; left = Math.floor(left / 2), square *= square) {
    if (left % 2 === 1) product *= square;
  }
  return product;
}

const SQUARED_MOST = 64;

export function pow(x: number, y: number): number {
  if (y === 0 || x === 1) return 1;
  if (Number.isNaN(x) || Number.isNaN(y)) return NaN;
  const isWhole = Number.isInteger(y);
  if (isWhole && Math.abs(y) <= SQUARED_MOST) {
    return y > 0 ? wholePower(x, y) : 1 / wholePower(x, -y);
  }
  const size = Math.abs(x);
  if (size === 1 && !Number.isFinite(y)) return 1;
  if (x < 0 && Number.isFinite(x) && !isWhole && Number.isFinite(y)) return NaN;
  const isNegative = (x < 0 || Object.is(x, -0)) && isWhole && Math.abs(y % 2) === 1;
  if (y === 0.5) return Math.sqrt(size);
  const result = exp(y * log(size));
  return isNegative ? -result : result;
}

/** Returns the sine of a quarter turn times `quarters`, plus `x`, which is at most pi / 4. */
function sineAround(quarters: number, x: number): number {
  const square = x * x;
  const isCosine = quarters % 2 === 1;
  let sum = 0;
  for (let term = CIRCLE_TERMS; term >= 1; term--) {
    const factors = isCosine ? (2 * term - 1) * (2 * term) : 2 * term * (2 * term + 1);
    sum = (-(1 + sum) * square) / factors;
  }
  const value = isCosine ? 1 + sum : x + x * sum;
  return quarters >= 2 ? -value : value;
}

function shiftedSine(x: number, shift: number): number {
  if (!Number.isFinite(x)) return NaN;
  const quarters = Math.round(x / (HALF_PI[0] ?? 0));
  let remainder = x;
  for (const part of HALF_PI) remainder -= quarters * part;
  return sineAround((((quarters + shift) % 4) + 4) % 4, remainder);
}

/** Beyond 2^24 the engine's own, whose last bit may differ: no model's single numbers are angles of that size. */
export function sin(x: number): number {
  if (x === 0) return x;
  return Math.abs(x) < LARGEST_ANGLE ? shiftedSine(x, 0) : Math.sin(x);
}

export function cos(x: number): number {
  return Math.abs(x) < LARGEST_ANGLE ? shiftedSine(x, 1) : Math.cos(x);
}
