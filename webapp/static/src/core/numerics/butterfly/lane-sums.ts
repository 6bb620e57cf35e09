/**
 * Sums of float64 in one fixed order, the same bits in both languages. The twin is
 * backend/numerics/butterfly/lane_sums.py.
 */

export const LANES = 1024;

/**
 * Returns the sum of `size` values, which `at` returns by their number: rows of LANES values are added up lane by lane,
 * in order, then the lanes in order, each times its `factors`.
 */
export function laneSum(size: number, at: (index: number) => number, factors?: Float64Array): number {
  const sums = new Float64Array(LANES);
  for (let i = 0; i < size; i++) {
    const lane = i % LANES;
    sums[lane] = (sums[lane] as number) + at(i);
  }
  let total = 0;
  for (let lane = 0; lane < LANES; lane++) total += (sums[lane] as number) * (factors?.[lane] ?? 1);
  return total;
}
