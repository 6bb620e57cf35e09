/**
 * What members compute of the bytes of pieces and means: the same for all, whatever a liar sent. The twin is
 * backend/numerics/butterfly/part_values.py.
 */

import { medians } from "../aggregation/robust-mean";
import { clippedMean, distance } from "./clipped-mean";
import { type Projection, projectionProduct } from "./projection";

const VALUE_BYTES = 4;

/**
 * Returns the values of a piece or mean, little-endian float32. Bytes of another length, or with NaN or infinity, count
 * as zeros: they are wrong work, and everybody must compute the same with them.
 */
export function partValues(content: Uint8Array, size: number): Float32Array {
  if (content.length !== VALUE_BYTES * size) return new Float32Array(size);
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const values = Float32Array.from({ length: size }, (_, i) => view.getFloat32(VALUE_BYTES * i, true));
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
 * Returns a piece's product with the random vector of the part, and its distance from the mean. Before the first radius
 * was measured (`radius` 0), the product is of the whole difference up to length 1.
 */
export function partNumbers(piece: Float32Array, projection: Projection): readonly [number, number] {
  const { mean, radius } = projection;
  return [projectionProduct(piece, { ...projection, radius: radius || 1 }), distance(piece, mean)];
}

function ownRadius(pieces: readonly Float32Array[]): number {
  const middle = medians(pieces);
  const lengths = pieces.map((piece) => distance(piece, middle)).sort((a, b) => a - b);
  const half = lengths.length >> 1;
  const upper = lengths[half] as number;
  return (lengths.length % 2 === 1 ? upper : ((lengths[half - 1] as number) + upper) / 2) || 1;
}
