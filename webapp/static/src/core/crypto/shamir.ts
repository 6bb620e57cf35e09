/**
 * Shamir's secret sharing (1979) over the integers modulo p = 2^256 - 189, the largest prime of 256 bits.
 *
 * A number is 16 limbs of 16 bits in an Int32Array, and every step processes all of them whatever their values: no
 * branch and no address depends on a secret, as they do within BigInt. JavaScript allows no more: the engine and the
 * processor guarantee nothing.
 */

import type { Bytes } from "./bytes";

export const SECRET_BYTES = 32;
const LIMBS = 16;
/** 2^256 modulo p. */
const FOLD = 189;
/** Places are below this, so that limbs times them stay below 2^31. */
const MOST_HOLDERS = 1 << 14;

/** Whether `secret` is 32 bytes that are, as a big-endian integer, below p. All but one in 2^248 are. */
export function isValidSecret(secret: Uint8Array): boolean {
  return secret.length === SECRET_BYTES && plusFold(limbsOf(secret))[1] === 0;
}

/** Returns the number of random bytes that `split` needs. */
export function randomnessBytes(threshold: number): number {
  return (threshold - 1) * SECRET_BYTES;
}

/**
 * Returns shares of 32 bytes for `holders`, in their order: any `threshold` recover the secret, fewer reveal nothing
 * about it. A holder is a place; its share is the polynomial's value at place + 1. The coefficients from the linear
 * one on are 32 bytes each of `randomness`, big-endian, modulo p.
 */
export function split(
  secret: Uint8Array,
  holders: readonly number[],
  threshold: number,
  randomness: Uint8Array,
): Bytes[] {
  if (threshold < 1 || holders.length < threshold || new Set(holders).size < holders.length)
    throw new RangeError("Shares need as many different holders as the threshold.");
  if (holders.some((place) => !Number.isInteger(place) || place < 0 || place + 1 >= MOST_HOLDERS))
    throw new RangeError(`Holders are places from 0 to ${MOST_HOLDERS - 2}.`);
  if (!isValidSecret(secret) || randomness.length !== randomnessBytes(threshold))
    throw new RangeError("A secret has 32 bytes, below the prime, and 32 random bytes a coefficient.");
  const coefficients = Array.from({ length: threshold - 1 }, (_, i) =>
    limbsOf(randomness.subarray(SECRET_BYTES * i, SECRET_BYTES * (i + 1))),
  );
  const descending = [limbsOf(secret), ...coefficients].reverse();
  return holders.map((place) => bytesOf(evaluate(descending, place + 1)));
}

/** Evaluates the polynomial at `x`, by Horner's rule. */
function evaluate(descending: readonly Int32Array[], x: number): Int32Array {
  const value = new Int32Array(LIMBS);
  for (const coefficient of descending) {
    let carry = 0;
    for (let i = 0; i < LIMBS; i++) {
      const limb = (value[i] as number) * x + (coefficient[i] as number) + carry;
      value[i] = limb & 0xffff;
      carry = limb >>> 16;
    }
    // The part above 2^256 is folded back as 189 times itself; the second time it is at most 1.
    fold(value, fold(value, carry));
  }
  const [reduced, above] = plusFold(value);
  return choose(above, reduced, value);
}

/** Adds `carry` times 189 to `value` in place; returns what is above 2^256. */
function fold(value: Int32Array, carry: number): number {
  let rest = carry * FOLD;
  for (let i = 0; i < LIMBS; i++) {
    const limb = (value[i] as number) + rest;
    value[i] = limb & 0xffff;
    rest = limb >>> 16;
  }
  return rest;
}

/**
 * Returns `value` + 189 modulo 2^256, and 1 if `value` was at least p, else 0: in the first case the sum is `value` -
 * p.
 */
function plusFold(value: Int32Array): [sum: Int32Array, above: number] {
  const sum = Int32Array.from(value);
  return [sum, fold(sum, 1)];
}

/** Returns `a` if `bit` is 1, `b` if it is 0. */
function choose(bit: number, a: Int32Array, b: Int32Array): Int32Array {
  return a.map((limb, i) => (limb & -bit) | ((b[i] as number) & (bit - 1)));
}

function limbsOf(bytes: Uint8Array): Int32Array {
  return Int32Array.from(
    { length: LIMBS },
    (_, i) => ((bytes[30 - 2 * i] as number) << 8) | (bytes[31 - 2 * i] as number),
  );
}

function bytesOf(limbs: Int32Array): Bytes {
  const bytes = new Uint8Array(SECRET_BYTES);
  limbs.forEach((limb, i) => {
    bytes[30 - 2 * i] = limb >>> 8;
    bytes[31 - 2 * i] = limb & 0xff;
  });
  return bytes;
}
