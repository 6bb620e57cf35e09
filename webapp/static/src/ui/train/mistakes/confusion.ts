/**
 * Counts how often each class is predicted for each: as a matrix, or for many classes the most frequent confusions.
 * Pure.
 */

import type { MistakeFindings } from "../../../core/data/mistakes";

/** The most classes for which the matrix is shown. */
export const MATRIX_CLASSES = 12;

type CountedMistake = Pick<MistakeFindings, "classes" | "confusion">;

export interface ConfusionCell {
  readonly count: number;
  /** The share of all answers to examples of this class. */
  readonly share: number;
  readonly right: boolean;
}

/** Returns a row for each class of the examples, with a cell for each class that the model can predict. */
export function matrixOf({ classes, confusion }: CountedMistake): ConfusionCell[][] {
  const numbers = Array.from({ length: classes }, (_, number) => number);
  return numbers.map((truth) => {
    const counts = numbers.map((guess) => confusion.get(truth * classes + guess) ?? 0);
    const all = counts.reduce((sum, count) => sum + count, 0);
    return counts.map((count, guess) => ({ count, share: count / Math.max(all, 1), right: guess === truth }));
  });
}

export interface Confusion {
  readonly truth: number;
  readonly guess: number;
  readonly count: number;
}

/** Returns the most frequent wrong answers first, at most `most` of them. */
export function confusionsOf({ classes, confusion }: CountedMistake, most: number): Confusion[] {
  return [...confusion]
    .map(([key, count]) => ({ truth: Math.floor(key / classes), guess: key % classes, count }))
    .filter(({ truth, guess }) => truth !== guess)
    .sort((a, b) => b.count - a.count || a.truth - b.truth || a.guess - b.guess)
    .slice(0, most);
}
