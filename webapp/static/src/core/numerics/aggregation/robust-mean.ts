/**
 * Robust means, which a few malicious members influence little; the same bits as those of Python
 * (`backend/numerics/aggregation/part_mean.py`).
 */

import type { Vector } from "./precision";

/** The reciprocal of the share of contributors that is trimmed at either end of each value. */
const TRIMMED = 5;
/** Iterations of centered clipping; the paper's experiments need one to three. */
const ITERATIONS = 3;

/**
 * Returns the mean of each value of `rows` without a fifth at either end (Yin et al. 2018, def. 2), at least one if
 * there are three rows or more. The rest are added up in ascending order, then divided.
 */
export function trimmedMean(rows: readonly Float32Array[]): Vector {
  const cut = Math.max(Math.floor(rows.length / TRIMMED), rows.length > 2 ? 1 : 0);
  const remaining = rows.length - 2 * cut;
  return columns(rows, (column) => {
    let total = 0;
    for (let i = cut; i < cut + remaining; i++) total = Math.fround(total + (column[i] as number));
    return total / remaining;
  });
}

/**
 * Averages `rows` with their distances from the centre clipped (Karimireddy et al. 2021, alg. 2). It begins at the
 * median of each value; the radius is the median distance from it.
 */
export function centeredClip(rows: readonly Float32Array[]): Vector {
  const centre = medians(rows);
  const radius = median(Float64Array.from(rows, (row) => distance(row, centre)).sort());
  for (let turn = 0; turn < ITERATIONS; turn++) {
    const step = new Float32Array(centre.length);
    for (const row of rows) {
      const way = distance(row, centre);
      const share = Math.fround((way > radius ? radius / way : 1) / rows.length);
      for (let i = 0; i < step.length; i++) {
        const moved = Math.fround((row[i] as number) - (centre[i] as number));
        step[i] = (step[i] as number) + Math.fround(moved * share);
      }
    }
    for (let i = 0; i < centre.length; i++) centre[i] = (centre[i] as number) + (step[i] as number);
  }
  return centre;
}

/** Returns the median of each value of `rows`; of two in the middle their mean. */
export function medians(rows: readonly Float32Array[]): Vector {
  return columns(rows, median);
}

/** Applies `reduce` to the values of all `rows` at each index, in ascending order. */
function columns(rows: readonly Float32Array[], reduce: (column: Float32Array) => number): Vector {
  const out = new Float32Array(rows[0]?.length ?? 0);
  const column = new Float32Array(rows.length);
  for (let i = 0; i < out.length; i++) {
    for (let row = 0; row < rows.length; row++) column[row] = (rows[row] as Float32Array)[i] as number;
    out[i] = reduce(column.sort());
  }
  return out;
}

/** Returns the median of ascending values; of two in the middle their mean. */
export function median(values: Float32Array | Float64Array): number {
  const half = values.length >> 1;
  const upper = values[half] as number;
  return values.length % 2 === 1 ? upper : ((values[half - 1] as number) + upper) / 2;
}

function distance(a: Float32Array, b: Float32Array): number {
  let squares = 0;
  for (let i = 0; i < a.length; i++) {
    const way = Math.fround((a[i] as number) - (b[i] as number));
    squares += way * way;
  }
  return Math.sqrt(squares);
}
