/** How a vector is cut into the parts of a turn. The twin is in backend/peer/mesh/byzantine/part_jobs.py. */

import type { Bytes } from "../../../core/crypto/bytes";

/** Returns the limits of so many parts of a vector of `size` values, alike but for one value. */
export function partBounds(size: number, parts: number): readonly number[] {
  return Array.from({ length: parts + 1 }, (_, part) => Math.floor((size * part) / parts));
}

/** Returns the pieces of a vector, little-endian float32, each with bytes of its own. */
export function cut(vector: Float32Array, bounds: readonly number[]): readonly Bytes[] {
  return bounds.slice(1).map((end, part) => {
    const piece = vector.slice(bounds[part] as number, end);
    return new Uint8Array(piece.buffer as ArrayBuffer);
  });
}
