/**
 * The mean of what members of a group sent of one part of the vector: the same bits, whoever makes it. Pieces are decoded to
 * float32 and added up in the order of places; the mean is encoded as they were, and everybody takes the decoded mean.
 * `backend/numerics/aggregation/part_mean.py` is the twin; tests/contract/vectors/averaging.json holds both to the same
 * bits.
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

export type Reducer = "mean" | "trimmed_mean" | "centered_clip";

/** What is known of a part by whoever reduces it. */
export interface PartShape {
  readonly values: number;
  readonly precision: Precision;
  readonly reducer: Reducer;
}

/**
 * What each contributor's values are multiplied by: its part of all `weights`, which stand in the order of places. Throws a
 * RangeError where they do not add up to more than zero.
 */
export function shares(weights: readonly number[]): Float32Array {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(total > 0 && total < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`Weights that add up to ${total} make no mean.`);
  }
  return Float32Array.from(weights, (weight) => weight / total);
}

/**
 * The encoded mean of `pieces`, which were checked (precision.ts `checked`); they and `weights` are the contributors' in the
 * order of places. Robust reducers pass over weights.
 */
export function reducePart(
  pieces: readonly Bytes[],
  weights: readonly number[],
  { values, precision, reducer }: PartShape,
): Bytes {
  if (reducer === "centered_clip") {
    return encode(centeredClip(pieces.map((piece) => decode(piece, values, precision))), precision);
  }
  const each = shares(weights);
  const data = new Uint8Array(encodedSize(values, precision));
  const rows = pieces.map(() => new Float32Array(Math.min(values, BLOCK)));
  for (let from = 0; from < values; from += BLOCK) {
    const block = rows.map((row) => row.subarray(0, Math.min(BLOCK, values - from)));
    block.forEach((row, i) => {
      readBlock(pieces[i] as Bytes, from, precision, row);
    });
    const mean = reducer === "mean" ? weightedMean(block, each) : trimmedMean(block);
    writeBlock(mean, from, precision, data);
  }
  return data;
}

/** In a ring: the encoded sum that travels on, of `before` (null for who begins) and `own` times its share. */
export function passOn(before: Bytes | null, own: Float32Array, share: number, precision: Precision): Bytes {
  const total = before === null ? new Float32Array(own.length) : decode(before, own.length, precision);
  addTo(total, own, share);
  return encode(total, precision);
}

function weightedMean(rows: readonly Float32Array[], each: Float32Array): Vector {
  const total = new Float32Array(rows[0]?.length ?? 0);
  rows.forEach((row, i) => {
    addTo(total, row, each[i] as number);
  });
  return total;
}

/** Both operations round to float32. */
function addTo(total: Float32Array, row: Float32Array, share: number): void {
  for (let i = 0; i < total.length; i++) {
    total[i] = (total[i] as number) + Math.fround((row[i] as number) * share);
  }
}
