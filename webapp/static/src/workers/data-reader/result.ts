/** The reader's result for the chosen files: examples for training, and messages for people. */

import type { Examples } from "../../core/data/examples";
import type { Preview, Problem, Report } from "../../core/messages/data-reader";
import { DataProblem } from "../../core/preprocessing/data-problem";
import type { DataSpec } from "../../core/preprocessing/declaration";
import type { Split } from "../../core/preprocessing/example-order";
import { asValue, type FilledMessage, later, laterPlural, type UserMessage } from "../../core/user-messages";

/** What becomes of a file, a row or an example with a problem. */
export const FILE_LEFT_OUT = later("The file is left out.", {});
export const ROW_LEFT_OUT = later("The row is left out.", {});
export const LEFT_OUT = later("It is left out.", {});

/** Names row `index` (from 0) of a table. */
export function rowOf(path: string, index: number): FilledMessage {
  return later("%(path)s, row %(row)s", { path, row: index + 1 });
}

/** The number of problems that a page shows; the others are counted. */
const SHOWN = 20;

/** Collects the problems of the files. */
export class Problems {
  readonly first: Problem[] = [];
  count = 0;

  add(where: UserMessage, text: UserMessage): void {
    this.count += 1;
    if (this.first.length < SHOWN) this.first.push({ where, text });
  }

  /** Runs `work`; a data problem that it throws is recorded for `where`, and the result is null. */
  async guard<T>(
    where: UserMessage,
    consequence: FilledMessage,
    work: () => T | Promise<T>,
  ): Promise<T | null> {
    try {
      return await work();
    } catch (problem) {
      if (!(problem instanceof DataProblem)) throw problem;
      const values = { problem: asValue(problem.userMessage), consequence };
      this.add(where, later("%(problem)s. %(consequence)s", values));
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
export function countProblem(
  count: number,
  { minimum, maximum }: DataSpec["volunteer"],
): FilledMessage | null {
  if (count < minimum) {
    const here =
      count === 0
        ? later("none is here yet", {})
        : laterPlural("this is %(count)s", "these are %(count)s", count, {});
    return laterPlural(
      "This task needs at least %(count)s example from each device; %(here)s. Add %(more)s more.",
      "This task needs at least %(count)s examples from each device; %(here)s. Add %(more)s more.",
      minimum,
      { here, more: minimum - count },
    );
  }
  if (count > maximum) {
    return laterPlural(
      "This task takes at most %(count)s example from each device; these are %(here)s. Start over with fewer.",
      "This task takes at most %(count)s examples from each device; these are %(here)s. Start over with fewer.",
      maximum,
      { here: count },
    );
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
