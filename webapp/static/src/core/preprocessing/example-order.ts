/** Numbers a volunteer's own examples, and chooses which of them are held out. */

import { permutation } from "../numerics/batches";

/** Ranks code units by the code points they stand for: surrogates after all others. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** Compares by code points, as Python does; JavaScript compares UTF-16 units. */
export function byCodePoints(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Returns how many of `n` examples are held out. */
export function heldOut(n: number, share: number): number {
  return share === 0 || n < 2 ? 0 : Math.max(1, Math.floor(n * share));
}

/** Numbers of the examples of each part, in the order in which the trainer numbers them. */
export interface Split {
  readonly train: Uint32Array;
  readonly holdout: Uint32Array;
}

/** Holds out the first examples of a shuffle that is the same on all clients. */
export function splitShuffled(n: number, share: number): Split {
  const holdout = permutation(0, 0, n).slice(0, heldOut(n, share)).sort();
  const isHeld = new Set(holdout);
  const train = Uint32Array.from({ length: n }, (_, i) => i).filter((i) => !isHeld.has(i));
  return { train, holdout };
}

/** Holds out the last windows of text, and drops those before that share tokens with them. */
export function splitWindows(starts: readonly number[], length: number, share: number): Split {
  const n = starts.length;
  const first = n - heldOut(n, share);
  const end = first < n ? (starts[first] as number) : Number.POSITIVE_INFINITY;
  const numbers = Uint32Array.from({ length: n }, (_, i) => i);
  const train = numbers.subarray(0, first).filter((i) => (starts[i] as number) + length < end);
  return { train, holdout: numbers.subarray(first) };
}
