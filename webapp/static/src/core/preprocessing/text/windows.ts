/** Ids of a text as examples of a fixed length. */

import { DataProblem } from "../data-problem";

/** Where windows begin: each holds `length` ids and the one after them. */
export function windowStarts(count: number, length: number, stride: number): number[] {
  const starts: number[] = [];
  for (let start = 0; start + length + 1 <= count; start += stride) starts.push(start);
  return starts;
}

/** The first `length` ids, filled up with 0. Throws DataProblem where there are none. */
export function padded(ids: readonly number[], length: number): number[] {
  if (ids.length === 0) throw new DataProblem("There is no word or letter in it that the task knows");
  return Array.from({ length }, (_, i) => ids[i] ?? 0);
}
