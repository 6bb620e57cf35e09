/**
 * A random rotation that everybody in a round knows: it spreads an update's norm evenly over its values.
 * `backend/numerics/masking/rotation.py` is the twin and says how; tests/contract/vectors/encoding.json holds both to
 * the same bits.
 */

import { FULL_BITS } from "./bit-packing";

/** A rotated value is over BOUND_FACTOR * norm / sqrt(span) with a probability under 2 exp(-BOUND_FACTOR^2 / 2). */
export const BOUND_FACTOR = 6;

/** Values that stay in the second-level cache while they are added and subtracted. */
const BLOCK_VALUES = 64 * 1024;

/** Values of one transform: the largest power of two up to `size` > 0. */
export function span(size: number): number {
  return 2 ** (31 - Math.clz32(size));
}

/** Random words that the signs of a rotation of `size` values take. */
export function signWords(size: number): number {
  return starts(size).length * Math.ceil(span(size) / FULL_BITS);
}

/** `values` rotated by the signs in `signs`: as long as before, with the same L2 norm. */
export function rotate(values: Float32Array, signs: Uint32Array): Float32Array<ArrayBuffer> {
  if (signs.length !== signWords(values.length)) {
    throw new RangeError(
      `A rotation of ${values.length} values takes ${signWords(values.length)} random words.`,
    );
  }
  const rotated = Float32Array.from(values);
  const size = span(values.length);
  const each = Math.ceil(size / FULL_BITS);
  starts(values.length).forEach((start, n) => {
    const part = rotated.subarray(start, start + size);
    flip(part, signs.subarray(n * each));
    transform(part);
  });
  return rotated;
}

function starts(size: number): number[] {
  return span(size) === size ? [0] : [0, size - span(size)];
}

/** Multiplies by -1 where a bit of `signs` is set (the lowest bit is the first), and all by 1 / sqrt(n). */
function flip(values: Float32Array, signs: Uint32Array): void {
  const scale = Math.fround(1 / Math.sqrt(values.length));
  for (let i = 0; i < values.length; i++) {
    const minus = ((signs[i >>> 5] as number) >>> (i & 31)) & 1;
    values[i] = (values[i] as number) * (minus ? -scale : scale);
  }
}

/** Walsh-Hadamard transform of 2^p values, in place, not scaled: norms become 2^(p/2) times as large. */
function transform(values: Float32Array): void {
  const size = Math.min(values.length, BLOCK_VALUES);
  for (let start = 0; start < values.length; start += size) {
    sums(values.subarray(start, start + size), 1);
  }
  sums(values, size);
}

function sums(values: Float32Array, first: number): void {
  for (let half = first; half < values.length; half *= 2) {
    for (let start = 0; start < values.length; start += 2 * half) {
      for (let low = start; low < start + half; low++) {
        const a = values[low] as number;
        const b = values[low + half] as number;
        values[low] = a + b;
        values[low + half] = a - b;
      }
    }
  }
}
