/**
 * Random projections of pieces, by which the owner of a part proves its mean without showing pieces (Gorbunov et al.
 * 2022, section 3.2). The twin, with the reasons, is backend/numerics/butterfly/projection.py.
 */

import { uniform } from "../philox";
import { clipFactor, distance } from "./clipped-mean";
import { LANES, laneSum } from "./lane-sums";

/** A clipped mean that pieces are compared with, and the toss that draws the random vector of its `part`. */
export interface Projection {
  readonly mean: Float32Array;
  readonly radius: number;
  /** Below 2**53. */
  readonly coin: number;
  readonly part: number;
}

/** Returns the product of a piece's clipped difference from the mean with the random vector. */
export function projectionProduct(piece: Float32Array, { mean, radius, coin, part }: Projection): number {
  const size = mean.length;
  const unit = uniform(coin, part, 0, LANES + Math.ceil(size / LANES));
  const both = Float64Array.from(unit, (value) => 2 * value - 1);
  const byRow = both.subarray(LANES);
  const product = laneSum(
    size,
    (i) => {
      const difference = Math.fround((piece[i] as number) - (mean[i] as number));
      return difference * (byRow[Math.floor(i / LANES)] as number);
    },
    both.subarray(0, LANES),
  );
  return product * clipFactor(distance(piece, mean), radius);
}
