/**
 * What members compute of the bytes of pieces and means: the same for all, whatever a liar sent. The twin is
 * backend/numerics/butterfly/part_values.py; tests/contract/vectors/butterfly.json binds their bits.
 */

import { median, medians } from "../aggregation/robust-mean";
import { clippedMean, distance } from "./clipped-mean";
import { projectionProduct } from "./projection";

/** By piece: its product with a random vector, and its distance from the mean. */
export interface PartNumbers {
  readonly products: readonly number[];
  readonly lengths: readonly number[];
}

/**
 * Returns the values of a piece or mean, little-endian float32. Bytes of another length, or with NaN or infinity, count
 * as zeros: they are wrong work, and everybody must compute the same with them.
 */
export function partValues(content: Uint8Array, size: number): Float32Array<ArrayBuffer> {
  if (content.length !== 4 * size) return new Float32Array(size);
  // A copy, because the bytes may begin anywhere in their buffer.
  const values = new Float32Array(content.slice().buffer);
  return values.every(Number.isFinite) ? values : new Float32Array(size);
}

/**
 * Returns the clipped mean of pieces. With `radius` 0, before the first was measured, it is the median of the pieces'
 * distances from the median of each value, or 1 where that is 0.
 */
export function meanOfPart(pieces: readonly Float32Array[], radius: number): Float32Array {
  return clippedMean(pieces, radius || ownRadius(pieces)).mean;
}

/**
 * Returns each piece's product with the random vector of `part`, and its distance from the mean. `coin` is below 2**53.
 * Before the first radius was measured (`radius` 0), products are of whole differences up to length 1.
 */
export function partNumbers(
  pieces: readonly Float32Array[],
  mean: Float32Array,
  radius: number,
  coin: number,
  part: number,
): PartNumbers {
  const projection = { mean, radius: radius || 1, coin, part };
  return {
    products: pieces.map((piece) => projectionProduct(piece, projection)),
    lengths: pieces.map((piece) => distance(piece, mean)),
  };
}

function ownRadius(pieces: readonly Float32Array[]): number {
  const middle = medians(pieces);
  return median(Float64Array.from(pieces, (piece) => distance(piece, middle)).sort()) || 1;
}
