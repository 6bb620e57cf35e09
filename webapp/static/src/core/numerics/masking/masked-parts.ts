/**
 * Pieces of a group that hides them, as whole numbers: 32-bit words whose sum modulo 2^32 is the mean. Masks are words like
 * any others, and added elsewhere (core/crypto/pads.ts). `backend/numerics/masking/masked_parts.py` is the twin; "Numbers" in
 * docs/decisions/0032-masks-in-a-group.md has the rules, tests/contract/vectors/masked_pieces.json holds both
 * to the same words.
 */

import type { Bytes } from "../../crypto/bytes";
import { encodedSize, type Precision, UnfitError, type Vector } from "../aggregation/precision";

/** What is averaged: the way from common weights, or weights. */
export type PartSubject = "changes" | "weights";

const WORD_BYTES = 4;
/** Values beyond are set to it. Powers of two, so that scaling is exact. */
const MOST: Readonly<Record<PartSubject, number>> = { changes: 64, weights: 4096 };
/** A mean of the most is this word. Twice of it still fits, so that a sum of honest pieces never wraps around. */
const FULL = 2 ** 30;
/** What shares, which are rounded, and rounded words can add to it. */
const SLACK = 2 ** 10;
/** Added to a number and taken away again, it leaves the nearest whole number, of two the even one. */
const ROUNDING = 1.5 * 2 ** 52;

/** Bytes of a piece, or mean, of so many values. */
export function pieceSize(values: number, precision: Precision | "masked"): number {
  return precision === "masked" ? WORD_BYTES * values : encodedSize(values, precision);
}

/**
 * The words of `values` times the member's `share` of all weight, without masks: the product is exact in float64, and rounded
 * once. Throws a RangeError for NaN and infinity.
 */
export function pieceWords(
  values: Float32Array,
  share: number,
  subject: PartSubject,
): Uint32Array<ArrayBuffer> {
  const most = MOST[subject];
  const factor = share * (FULL / most);
  const words = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (!Number.isFinite(value)) {
      throw new RangeError("The weights hold NaN or infinity. Lower the learning rate.");
    }
    const within = value > most ? most : value < -most ? -most : value;
    // Typed arrays of 32 bits wrap by themselves.
    words[i] = within * factor + ROUNDING - ROUNDING;
  }
  return words;
}

/** The sum of pieces of so many values, modulo 2^32: that of their values where masks cancel. */
export function addPieces(pieces: readonly Bytes[], values: number): Bytes {
  const total = new Uint32Array(values);
  for (const piece of pieces) {
    const words = wordsOf(piece);
    for (let i = 0; i < values; i++) total[i] = (total[i] as number) + (words[i] as number);
  }
  return littleEndianBytes(total);
}

/** `data`, where words can be read, when it is `values` words; any words may be a masked piece. Throws an UnfitError. */
export function checkedPiece(data: Uint8Array, values: number): Bytes {
  const size = WORD_BYTES * values;
  if (data.length !== size) {
    throw new UnfitError(`${values} masked values are ${size} bytes, not ${data.length}.`);
  }
  const readable = data.buffer instanceof ArrayBuffer && data.byteOffset % WORD_BYTES === 0;
  return readable ? (data as Bytes) : data.slice();
}

/** The same of the words of a mean, which must be within what members may send: else somebody's masks were left in it. */
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

/** The values of a mean that was checked. */
export function readMean(data: Bytes, subject: PartSubject): Vector {
  const unit = MOST[subject] / FULL;
  const words = signed(data);
  const values = new Float32Array(words.length);
  for (let i = 0; i < values.length; i++) values[i] = (words[i] as number) * unit;
  return values;
}

/** Little-endian bytes, as every machine that runs browsers is. */
export function littleEndianBytes(words: Uint32Array<ArrayBuffer>): Bytes {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

function wordsOf({ buffer, byteOffset, byteLength }: Bytes): Uint32Array {
  return new Uint32Array(buffer, byteOffset, byteLength / WORD_BYTES);
}

function signed({ buffer, byteOffset, byteLength }: Bytes): Int32Array {
  return new Int32Array(buffer, byteOffset, byteLength / WORD_BYTES);
}
