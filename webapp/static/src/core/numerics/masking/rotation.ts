/**
 * A random rotation, the same for all clients of a round: it spreads an update's norm evenly over its values. The
 * twin is backend/numerics/masking/rotation.py, which describes the method; tests/contract/vectors/encoding.json
 * tests that both compute the same bits.
 */

import { FULL_BITS } from "./bit-packing";

/** A rotated value exceeds BOUND_FACTOR * norm / sqrt(span) with a probability below 2 exp(-BOUND_FACTOR^2 / 2). */
export const BOUND_FACTOR = 6;

/** Values that fit into the second-level cache during the transform. */
const BLOCK_VALUES = 64 * 1024;

/** Returns the values of one transform: the largest power of two up to `size` > 0. */
export function span(size: number): number {
  return 2 ** (31 - Math.clz32(size));
}

/** Returns the number of random words for the signs of a rotation of `size` values. */
export function signWords(size: number): number {
  return starts(size).length * Math.ceil(span(size) / FULL_BITS);
}

/** Rotates `values` by the signs in `signs`; length and L2 norm stay the same. */
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

/** Multiplies by -1 where a bit of `signs` is set (the lowest bit is the first), and all values by 1 / sqrt(n). */
function flip(values: Float32Array, signs: Uint32Array): void {
  const scale = Math.fround(1 / Math.sqrt(values.length));
  for (let i = 0; i < values.length; i++) {
    const minus = ((signs[i >>> 5] as number) >>> (i & 31)) & 1;
    values[i] = (values[i] as number) * (minus ? -scale : scale);
  }
}

/** Walsh-Hadamard transform of 2^p values, in place and unscaled: norms become 2^(p/2) times as large. */
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
