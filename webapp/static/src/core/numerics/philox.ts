/**
 * Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3), keyed the way
 * TensorFlow keys its stateless random ops. backend/numerics/philox.py is the Python twin;
 * tests/contract/vectors/philox.json tests both.
 *
 * Three integers identify a draw: `seed` (the plan's, below 2**53), `step` and `stream`. It equals
 * `tf.random.stateless_uniform(shape, seed=[seed, step + 2**32 * stream], alg="philox")`.
 */

const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
const ROUNDS = 10;
/** The key by which TensorFlow scrambles a seed. */
const SCRAMBLE_KEY = [0x3ec8f720, 0x02461e29] as const;
const TWO_32 = 2 ** 32;

/**
 * Returns the high half of the 64-bit product of two unsigned 32-bit integers, from products of their 16-bit halves.
 */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle1 = Math.imul(aHigh, bLow);
  const middle2 = Math.imul(aLow, bHigh);
  const carry = ((Math.imul(aLow, bLow) >>> 16) + (middle1 & 0xffff) + (middle2 & 0xffff)) >>> 16;
  return (Math.imul(aHigh, bHigh) + (middle1 >>> 16) + (middle2 >>> 16) + carry) | 0;
}

/** Applies ten rounds to the counter in the four words from `at` on, in place. Numbers with a sign are faster. */
function philox(words: Uint32Array, at: number, key0: number, key1: number): void {
  let c0 = (words[at] as number) | 0;
  let c1 = (words[at + 1] as number) | 0;
  let c2 = (words[at + 2] as number) | 0;
  let c3 = (words[at + 3] as number) | 0;
  let k0 = key0 | 0;
  let k1 = key1 | 0;
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0);
    const low0 = Math.imul(MULTIPLIER_0, c0);
    const high1 = multiplyHigh(MULTIPLIER_1, c2);
    const low1 = Math.imul(MULTIPLIER_1, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + WEYL_0) | 0;
    k1 = (k1 + WEYL_1) | 0;
  }
  words[at] = c0;
  words[at + 1] = c1;
  words[at + 2] = c2;
  words[at + 3] = c3;
}

/** Returns the first `count` random 32-bit words of a draw. */
export function philoxWords(seed: number, step: number, stream: number, count: number): Uint32Array {
  const mix = Uint32Array.of(seed % TWO_32, Math.floor(seed / TWO_32), step, stream);
  philox(mix, 0, SCRAMBLE_KEY[0], SCRAMBLE_KEY[1]);
  const [key0 = 0, key1 = 0, high0 = 0, high1 = 0] = mix;
  const out = new Uint32Array(Math.ceil(count / 4) * 4);
  for (let at = 0; at < count; at += 4) {
    out[at] = at / 4;
    out[at + 2] = high0;
    out[at + 3] = high1;
    philox(out, at, key0, key1);
  }
  return out.subarray(0, count);
}

/** Returns `count` float32 values, uniform in [0, 1): the low 23 bits of each word are the mantissa. */
export function uniform(
  seed: number,
  step: number,
  stream: number,
  count: number,
): Float32Array<ArrayBuffer> {
  const out = new Float32Array(count);
  const words = philoxWords(seed, step, stream, count);
  for (let i = 0; i < count; i++) out[i] = ((words[i] as number) & 0x7fffff) / 0x800000;
  return out;
}
