/** The reader's result for the chosen files: examples for training, and messages for people. */

import type { Examples } from "../../core/data/examples";
import type { Preview, Problem, Report } from "../../core/messages/data-reader";
import { DataProblem } from "../../core/preprocessing/data-problem";
import type { DataSpec } from "../../core/preprocessing/declaration";
import type { Split } from "../../core/preprocessing/example-order";
import { number } from "../../i18n/formatting";

/** Counts a noun in English, the language of the workers. */
export function counted(count: number, singular: string): string {
  return `${number(count)} ${singular}${count === 1 ? "" : "s"}`;
}

/** The number of problems that a page shows; the others are counted. */
const SHOWN = 20;

/** Collects the problems of the files. */
export class Problems {
  readonly first: Problem[] = [];
  count = 0;

  add(where: string, text: string): void {
    this.count += 1;
    if (this.first.length < SHOWN) this.first.push({ where, text });
  }

  /** Runs `work`; a data problem that it throws is recorded for `where`, and the result is null. */
  async guard<T>(where: string, what: string, work: () => T | Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (problem) {
      if (!(problem instanceof DataProblem)) throw problem;
      this.add(where, `${problem.message}. ${what}`);
      return null;
    }
  }
}

/** Valid examples, numbered from 0. */
export interface ReadExamples {
  readonly count: number;
  readonly split: Split;
  readonly classes: Report["classes"];
  readonly preview: Preview;
  /** Returns the examples of these numbers. Throws DataProblem if a file can no longer be read. */
  take(numbers: Uint32Array): Promise<Examples>;
}

/** Called as files are read. */
export type ReadResult = (done: number) => void;

/** Returns why `count` examples are not enough or too many, and what to do; null if they can be used. */
export function countProblem(count: number, { minimum, maximum }: DataSpec["volunteer"]): string | null {
  const each = "from each device";
  if (count < minimum) {
    const here = count === 0 ? "none is here yet" : count === 1 ? "this is 1" : `these are ${number(count)}`;
    const more = number(minimum - count);
    return `This task needs at least ${counted(minimum, "example")} ${each}; ${here}. Add ${more} more.`;
  }
  if (count > maximum) {
    return `This task takes at most ${counted(maximum, "example")} ${each}; these are ${number(count)}. Start over with fewer.`;
  }
  return null;
}

export function reportOf(understood: ReadExamples, problems: Problems, spec: DataSpec): Report {
  const { count, split, classes, preview } = understood;
  return {
    examples: count,
    counts: { train: split.train.length, holdout: split.holdout.length },
    classes,
    problems: problems.first,
    problemCount: problems.count,
    missing: countProblem(count, spec.volunteer),
    preview,
  };
}

/** Counts the examples of each class. */
export function countClasses(names: readonly string[], of: readonly string[]): Report["classes"] {
  const counts = new Map(names.map((name) => [name, 0]));
  for (const name of of) counts.set(name, (counts.get(name) ?? 0) + 1);
  return names.map((name) => ({ name, count: counts.get(name) ?? 0 }));
}
