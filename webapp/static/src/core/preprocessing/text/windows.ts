/** Splits the ids of a text into examples of a fixed length. */

import { later } from "../../user-messages";
import { DataProblem } from "../data-problem";

/** Returns the starts of windows: each has `length` ids and the one after them. */
export function windowStarts(count: number, length: number, stride: number): number[] {
  const starts: number[] = [];
  for (let start = 0; start + length + 1 <= count; start += stride) starts.push(start);
  return starts;
}

/** Returns the first `length` ids, padded with 0. Throws DataProblem if there are none. */
export function padIds(ids: readonly number[], length: number): number[] {
  if (ids.length === 0) throw new DataProblem(later("There is no word or letter in it that the task knows"));
  return Array.from({ length }, (_, i) => ids[i] ?? 0);
}
