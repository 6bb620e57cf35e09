/**
 * The clipped mean of a part (ButterflyClip), which no minority of its pieces can move far: the fixed point of
 * CenteredClip (Karimireddy et al. 2021, algorithm 2), found as a weighted mean whose weights are made again from the
 * distances to it. The twin is backend/numerics/butterfly/clipped_mean.py; tests/contract/vectors/butterfly.json binds
 * their bits.
 */

import { shares, weightedMean } from "../aggregation/part-mean";
import { medians } from "../aggregation/robust-mean";
import { laneSum } from "./lane-sums";

/** It ends when a turn moves the mean by no more than this, in radii, or after so many turns. */
const SETTLED = 1e-6;
const MOST_TURNS = 100;

/** The `mean` [size] of the pieces of a part, after so many `turns`, and their distances from it. */
export interface ClippedMean {
  readonly mean: Float32Array;
  readonly lengths: readonly number[];
  readonly turns: number;
}

/**
 * Returns the mean of `pieces`, each counting as far as `radius` from it (Gorbunov et al. 2022, section 3.1). It begins
 * at the median of each value. Throws a RangeError for no pieces or a radius that is not positive and finite.
 */
export function clippedMean(pieces: readonly Float32Array[], radius: number): ClippedMean {
  if (pieces.length === 0 || !(radius > 0 && radius < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`${pieces.length} pieces and a radius of ${radius} make no clipped mean.`);
  }
  let mean = medians(pieces);
  let lengths = pieces.map((piece) => distance(piece, mean));
  let turns = 0;
  let moved = Number.POSITIVE_INFINITY;
  while (turns < MOST_TURNS && moved > SETTLED * radius) {
    turns++;
    const before = mean;
    mean = weightedMean(pieces, shares(lengths.map((length) => clipFactor(length, radius))));
    lengths = pieces.map((piece) => distance(piece, mean));
    moved = distance(mean, before);
  }
  return { mean, lengths, turns };
}

/** Returns what a difference of this length is multiplied by, so that it is at most `radius` long. */
export function clipFactor(length: number, radius: number): number {
  return length > 0 ? Math.min(1, radius / length) : 1;
}

/** Returns the distance between two vectors: float32 differences, squares added up by lanes. */
export function distance(one: Float32Array, other: Float32Array): number {
  const squares = laneSum(one.length, (i) => {
    const difference = Math.fround((one[i] as number) - (other[i] as number));
    return difference * difference;
  });
  return Math.sqrt(squares);
}
