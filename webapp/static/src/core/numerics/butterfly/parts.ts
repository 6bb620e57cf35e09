/**
 * How a vector of P values is cut into n parts: part k takes every n-th value from k on. So each part has values of all
 * layers, and one radius fits all parts. The twin is in backend/peer/mesh/byzantine/part_jobs.py.
 */

import type { Bytes } from "../../crypto/bytes";

/** Returns how many of `size` values each of so many parts has. */
export function partSizes(size: number, parts: number): readonly number[] {
  return Array.from({ length: parts }, (_, part) => Math.floor((size - part + parts - 1) / parts));
}

/** Returns the sizes of the parts, added up: one number more than there are parts, the first is 0. */
export function partBounds(size: number, parts: number): readonly number[] {
  const bounds = [0];
  for (const one of partSizes(size, parts)) bounds.push((bounds.at(-1) as number) + one);
  return bounds;
}

/** Returns so many pieces of a vector, little-endian float32, each with bytes of its own. */
export function cut(vector: Float32Array, parts: number): readonly Bytes[] {
  return partSizes(vector.length, parts).map((size, part) => {
    const piece = new Float32Array(size);
    for (let i = 0; i < size; i++) piece[i] = vector[part + i * parts] as number;
    return new Uint8Array(piece.buffer);
  });
}

/** Returns the vector whose parts have these values. */
export function joined(parts: readonly Float32Array[]): Float32Array<ArrayBuffer> {
  const vector = new Float32Array(parts.reduce((size, values) => size + values.length, 0));
  for (const [part, values] of parts.entries()) {
    for (let i = 0; i < values.length; i++) vector[part + i * parts.length] = values[i] as number;
  }
  return vector;
}
