/**
 * The mean of one part of the vector over a group's members: the same bits on every member. Pieces are decoded to
 * float32 and added up in the order of places; the mean is encoded like them, and all members take the decoded mean.
 * The twin is backend/numerics/aggregation/part_mean.py; tests/contract/vectors/averaging.json tests that both
 * compute the same bits.
 */

import type { Bytes } from "../../crypto/bytes";
import {
  BLOCK,
  decode,
  encode,
  encodedSize,
  type Precision,
  readBlock,
  type Vector,
  writeBlock,
} from "./precision";
import { centeredClip, trimmedMean } from "./robust-mean";

export const REDUCERS = ["mean", "trimmed_mean", "centered_clip"] as const;
export type Reducer = (typeof REDUCERS)[number];

/** Computes the mean of a block of members' values from their shares; it may overwrite the rows. */
type BlockMean = (rows: readonly Float32Array[], fractions: Float32Array) => Vector;

const BLOCK_MEANS: Readonly<Record<Exclude<Reducer, "centered_clip">, BlockMean>> = {
  mean: weightedMean,
  trimmed_mean: trimmedMean,
};

/** The properties of a part that its reducer needs. */
export interface PartShape {
  readonly values: number;
  readonly precision: Precision;
  readonly reducer: Reducer;
}

/**
 * Returns the factor of each contributor's values: its share of all `weights`, which are in the order of places.
 * Throws a RangeError if the sum of the weights is not positive.
 */
export function shares(weights: readonly number[]): Float32Array {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0 && total < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`Weights that add up to ${total} make no mean.`);
  }
  return Float32Array.from(weights, (weight) => weight / total);
}

/**
 * Returns the encoded mean of `pieces`, which were checked (precision.ts `checked`); they and `weights` are the
 * contributors' in the order of places. Robust reducers ignore weights.
 */
export function reducePart(
  pieces: readonly Bytes[],
  weights: readonly number[],
  { values, precision, reducer }: PartShape,
): Bytes {
  if (reducer === "centered_clip") {
    return encode(centeredClip(pieces.map((piece) => decode(piece, values, precision))), precision);
  }
  const fractions = shares(weights);
  const data = new Uint8Array(encodedSize(values, precision));
  const rows = pieces.map(() => new Float32Array(Math.min(values, BLOCK)));
  for (let from = 0; from < values; from += BLOCK) {
    const block = rows.map((row) => row.subarray(0, Math.min(BLOCK, values - from)));
    block.forEach((row, i) => {
      readBlock(pieces[i] as Bytes, from, precision, row);
    });
    writeBlock(BLOCK_MEANS[reducer](block, fractions), from, precision, data);
  }
  return data;
}

/** Returns the encoded sum that a ring passes on: `before` (null for the first member) plus `own` times its share. */
export function passOn(before: Bytes | null, own: Float32Array, share: number, precision: Precision): Bytes {
  const total = before === null ? new Float32Array(own.length) : decode(before, own.length, precision);
  addTo(total, own, share);
  return encode(total, precision);
}

/** Adds up `rows` times their shares, in order. */
export function weightedMean(rows: readonly Float32Array[], fractions: Float32Array): Vector {
  const total = new Float32Array(rows[0]?.length ?? 0);
  rows.forEach((row, i) => {
    addTo(total, row, fractions[i] as number);
  });
  return total;
}

/** Both operations round to float32. */
function addTo(total: Float32Array, row: Float32Array, share: number): void {
  for (let i = 0; i < total.length; i++) {
    total[i] = (total[i] as number) + Math.fround((row[i] as number) * share);
  }
}
