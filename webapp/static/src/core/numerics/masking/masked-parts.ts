/**
 * Masked pieces of a group as whole numbers: 32-bit words whose sum modulo 2^32 is the mean. Masks are words, too,
 * and are added by core/crypto/pads.ts. The twin is backend/numerics/masking/masked_parts.py; "Numbers" in
 * docs/decisions/0032-masks-in-a-group.md has the rules, and tests/contract/vectors/masked_pieces.json tests that
 * both compute the same words.
 */

import type { Bytes } from "../../crypto/bytes";
import { later } from "../../user-messages";
import { encodedSize, type Precision, UnfitError, type Vector } from "../aggregation/precision";

/** What is averaged: changes from common weights, or weights. */
export type PartSubject = "changes" | "weights";

const WORD_BYTES = 4;
/** Larger values are clamped to this. They are powers of two, so that scaling is exact. */
const MOST: Readonly<Record<PartSubject, number>> = { changes: 64, weights: 4096 };
/** The word of the largest mean. Twice of it still fits, so that a sum of honest pieces never wraps around. */
const FULL = 2 ** 30;
/** The most that rounded shares and rounded words can add to it. */
const SLACK = 2 ** 10;
/** Added to a number and subtracted again, it leaves the nearest whole number, of two the even one. */
const ROUNDING = 1.5 * 2 ** 52;

/** Returns the bytes of a piece, or mean, of this number of values. */
export function pieceSize(values: number, precision: Precision | "masked"): number {
  return precision === "masked" ? WORD_BYTES * values : encodedSize(values, precision);
}

/**
 * Returns the words of `values` times the member's `share` of all weight, without masks: the product is exact in
 * float64, and rounded once. Throws a RangeError for NaN and infinity.
 */
export function pieceWords(
  values: Float32Array,
  share: number,
  subject: PartSubject,
): Uint32Array<ArrayBuffer> {
  const limit = MOST[subject];
  const factor = share * (FULL / limit);
  const words = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (!Number.isFinite(value)) {
      throw new RangeError(later("The weights hold NaN or infinity. Lower the learning rate."));
    }
    const within = value > limit ? limit : value < -limit ? -limit : value;
    // Typed arrays of 32 bits wrap around, as required.
    words[i] = within * factor + ROUNDING - ROUNDING;
  }
  return words;
}

/** Returns the sum of pieces of this number of values, modulo 2^32: the sum of their values if masks cancel. */
export function addPieces(pieces: readonly Bytes[], values: number): Bytes {
  const total = new Uint32Array(values);
  for (const piece of pieces) {
    const words = wordsOf(piece);
    for (let i = 0; i < values; i++) total[i] = (total[i] as number) + (words[i] as number);
  }
  return littleEndianBytes(total);
}

/**
 * Returns `data`, aligned to words, if it has `values` words; any words may be a masked piece. Throws an UnfitError
 * otherwise.
 */
export function checkedPiece(data: Uint8Array, values: number): Bytes {
  const size = WORD_BYTES * values;
  if (data.length !== size) {
    throw new UnfitError(`${values} masked values are ${size} bytes, not ${data.length}.`);
  }
  const readable = data.buffer instanceof ArrayBuffer && data.byteOffset % WORD_BYTES === 0;
  return readable ? (data as Bytes) : data.slice();
}

/**
 * Does the same for the words of a mean, which must be within the limits of members: otherwise masks did not cancel.
 */
export function checkedMean(data: Uint8Array, values: number): Bytes {
  const bytes = checkedPiece(data, values);
  const words = signed(bytes);
  for (let i = 0; i < values; i++) {
    if (Math.abs(words[i] as number) > FULL + SLACK) {
      throw new UnfitError("The sum is beyond what members may send: masks were left in it.");
    }
  }
  return bytes;
}

/** Returns the values of a checked mean. */
export function readMean(data: Bytes, subject: PartSubject): Vector {
  const unit = MOST[subject] / FULL;
  const words = signed(data);
  const values = new Float32Array(words.length);
  for (let i = 0; i < values.length; i++) values[i] = (words[i] as number) * unit;
  return values;
}

/** Returns the little-endian bytes: every machine that runs browsers is little-endian. */
export function littleEndianBytes(words: Uint32Array<ArrayBuffer>): Bytes {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

function wordsOf({ buffer, byteOffset, byteLength }: Bytes): Uint32Array {
  return new Uint32Array(buffer, byteOffset, byteLength / WORD_BYTES);
}

function signed({ buffer, byteOffset, byteLength }: Bytes): Int32Array {
  return new Int32Array(buffer, byteOffset, byteLength / WORD_BYTES);
}
