/**
 * What everybody checks of the means of a turn (Gorbunov et al. 2022, verifications 1 to 3). The twin is
 * backend/protocols/mesh/byzantine/checks.py.
 */

/** By part: products, and distances of pieces from the mean. */
export interface CheckNumbers {
  readonly products: readonly number[];
  readonly lengths: readonly number[];
}

/** The products of a part add up to zero, but for rounding. */
const SUM = 1e-5;

/** Returns the radius of a part of `size` values; `radius` is per root of its size. */
export function partRadius(radius: number, size: number): number {
  return radius * Math.sqrt(Math.max(1, size));
}

/** Returns the parts whose mean is to be made again by all; `checks` are those of all workers. */
export function doubtedParts(
  checks: readonly CheckNumbers[],
  radii: readonly number[],
  far: number,
): readonly number[] {
  return radii.flatMap((radius, part) => {
    const total = checks.reduce((sum, { products }) => sum + (products[part] as number), 0);
    const distant = checks.filter(({ lengths }) => (lengths[part] as number) > far * radius).length;
    return !(Math.abs(total) <= SUM * radius) || 2 * distant > checks.length ? [part] : [];
  });
}

/** Whether a worker's numbers are finite, and one of each kind for each part. */
export function isComplete({ products, lengths }: CheckNumbers, parts: number): boolean {
  const areFinite = [...products, ...lengths].every(Number.isFinite);
  return products.length === parts && lengths.length === parts && areFinite;
}

/** Returns the median of all lengths, each per root of its part's size. */
export function measuredRadius(checks: readonly CheckNumbers[], sizes: readonly number[]): number {
  const lengths = checks
    .flatMap((check) =>
      check.lengths.map((length, part) => length / Math.sqrt(Math.max(1, sizes[part] as number))),
    )
    .sort((a, b) => a - b);
  const middle = lengths.length >> 1;
  const upper = lengths[middle] as number;
  return lengths.length % 2 === 1 ? upper : ((lengths[middle - 1] as number) + upper) / 2;
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
