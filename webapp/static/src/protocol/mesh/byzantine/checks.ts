/**
 * What everybody checks of the means of a turn (Gorbunov et al. 2022, verifications 1 to 3). The twin is
 * backend/protocols/mesh/byzantine/checks.py.
 */

import type { ByzantineTerms } from "../../wire/mesh";

/** By part: products, and distances of pieces from the mean. */
export interface CheckNumbers {
  readonly products: readonly number[];
  readonly lengths: readonly number[];
}

/** The products of a part add up to zero, but for rounding. */
const SUM = 1e-5;

/** A measured radius changes by this factor at most from one round to the next. */
const RADIUS_CHANGE = 1.02;

/** Returns the radius of a part of `size` values; `radius` is per root of its size. */
export function partRadius(radius: number, size: number): number {
  return radius * Math.sqrt(Math.max(1, size));
}

/**
 * Returns how far the pieces of each part may be from its mean: `far` radii. A `radius` that was measured is that of the
 * round before; where all lengths grew since then, those of this round count.
 */
export function farLengths(
  checks: readonly CheckNumbers[],
  sizes: readonly number[],
  terms: ByzantineTerms,
  radius: number,
): readonly number[] {
  const widest = terms.radius === null ? Math.max(radius, measuredRadius(checks, sizes)) : radius;
  return sizes.map((size) => terms.far * partRadius(widest, size));
}

/**
 * Returns the parts whose mean is to be made again by all; `checks` are those of all workers. More than half of the
 * pieces are `farthest` from it, and more, or their products do not cancel.
 */
export function doubtedParts(
  checks: readonly CheckNumbers[],
  radii: readonly number[],
  farthest: readonly number[],
): readonly number[] {
  return radii.flatMap((radius, part) => {
    const most = farthest[part] as number;
    const total = checks.reduce((sum, { products }) => sum + (products[part] as number), 0);
    const distant = checks.filter(({ lengths }) => (lengths[part] as number) > most).length;
    return !(Math.abs(total) <= SUM * radius) || 2 * distant > checks.length ? [part] : [];
  });
}

/** Whether a worker's numbers are finite, and one of each kind for each part. */
export function isComplete({ products, lengths }: CheckNumbers, parts: number): boolean {
  const areFinite = [...products, ...lengths].every(Number.isFinite);
  return products.length === parts && lengths.length === parts && areFinite;
}

/**
 * Returns the median of the parts' median lengths, each per root of its part's size. Lying owners and those that hide
 * their lies have more than half of all lengths, but not of the parts, nor of a part's.
 */
export function measuredRadius(checks: readonly CheckNumbers[], sizes: readonly number[]): number {
  const medians = sizes.map(
    (size, part) =>
      median(checks.map(({ lengths }) => lengths[part] as number)) / Math.sqrt(Math.max(1, size)),
  );
  return median(medians);
}

/**
 * Returns the radius after a round that had `radius` and in which `measured` was found, 0 for none. It follows slowly:
 * what liars do to a model makes honest lengths grow within a few rounds, and what they may do grows with the radius.
 */
export function nextRadius(radius: number, measured: number): number {
  if (radius === 0 || measured === 0) return measured || radius;
  return Math.min(Math.max(measured, radius / RADIUS_CHANGE), radius * RADIUS_CHANGE);
}

function median(values: readonly number[]): number {
  const ordered = [...values].sort((a, b) => a - b);
  const middle = ordered.length >> 1;
  const upper = ordered[middle] as number;
  return ordered.length % 2 === 1 ? upper : ((ordered[middle - 1] as number) + upper) / 2;
}

/** Returns who said another product or length of `part` than its piece has, whose bits all know. */
export function wrongChecks(
  said: ReadonlyMap<string, CheckNumbers>,
  part: number,
  products: ReadonlyMap<string, number>,
  lengths: ReadonlyMap<string, number>,
): readonly string[] {
  return [...said]
    .filter(
      ([client, check]) =>
        check.products[part] !== products.get(client) || check.lengths[part] !== lengths.get(client),
    )
    .map(([client]) => client);
}
