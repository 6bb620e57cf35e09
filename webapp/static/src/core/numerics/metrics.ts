/** Computes metrics from the numerators and denominators that graphs count (docs/reference/bundle.md). */

import type { MetricSpec } from "../data/bundle";

type ScorePair = readonly [numerator: number, denominator: number];

/** Returns the number of pairs that graphs count for these metrics. */
export function metricRows(specs: readonly MetricSpec[]): number {
  return specs.reduce((sum, { rows = 1 }) => sum + rows, 0);
}

/** Returns one value per metric; `sums` are all numerators and denominators in turn, added up over some batches. */
export function metricValues(specs: readonly MetricSpec[], sums: ArrayLike<number>): number[] {
  let row = 0;
  return specs.map(({ kind, rows = 1 }) => {
    const pairs: ScorePair[] = [];
    for (const end = row + rows; row < end; row++) pairs.push([sums[2 * row] ?? 0, sums[2 * row + 1] ?? 0]);
    return METRICS[kind](pairs);
  });
}

const METRICS: Record<MetricSpec["kind"], (pairs: readonly ScorePair[]) => number> = {
  ratio,
  root: (pairs) => Math.sqrt(Math.max(ratio(pairs), 0)),
  mean: ratio,
  sum: (pairs) => pairs.reduce((sum, [numerator]) => sum + numerator, 0),
  auc: area,
};

/** Returns the mean of the ratios whose denominator is not 0; 0 if there is none. */
function ratio(pairs: readonly ScorePair[]): number {
  const ratios = pairs.filter(([, denominator]) => denominator !== 0).map(([a, b]) => a / b);
  return ratios.length > 0 ? ratios.reduce((sum, value) => sum + value, 0) / ratios.length : 0;
}

/** Returns the area under the curve of true over false positives by trapezoids; the first pair counts everything. */
function area(pairs: readonly ScorePair[]): number {
  const [positives, negatives] = pairs[0] ?? [0, 0];
  if (positives === 0 || negatives === 0) return 0;
  let doubled = 0;
  pairs.slice(1).forEach(([fewerHits, fewerAlarms], i) => {
    const [hits, alarms] = pairs[i] as ScorePair;
    doubled += (alarms - fewerAlarms) * (hits + fewerHits);
  });
  return doubled / (2 * positives * negatives);
}
