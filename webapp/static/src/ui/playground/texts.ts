/** The texts of the playground. Pure. */

import { chancesOf } from "../../core/numerics/probabilities";
import { say } from "../../i18n";
import { decimal, percent } from "../../i18n/formatting";

/** The names of a model's answers, as `/api/tasks/<name>/data` gives them. */
export interface ClassNames {
  readonly labels: readonly string[];
  /** Whether the outputs are probabilities of the labels; otherwise they are numbers. */
  readonly chances: boolean;
  readonly logits: boolean;
}

/** One answer: its name, its probability, if it has one, and its figure as text. */
export interface AnswerRow {
  readonly label: string;
  readonly share: number | null;
  readonly figure: string;
  readonly best: boolean;
}

/** The most answers that are shown: the likeliest. */
const MOST_ROWS = 12;
const LIKELIEST = 10;

/** Returns the rows for an output. */
export function rowsOf(output: ArrayLike<number>, { labels, chances, logits }: ClassNames): AnswerRow[] {
  const name = (i: number) => labels[i] ?? String(i);
  if (!chances) {
    return Array.from(output, (value, i) => ({
      label: name(i),
      share: null,
      figure: decimal(value),
      best: false,
    }));
  }
  const shares = chancesOf(output, logits);
  const best = shares.indexOf(Math.max(...shares));
  const rows = shares.map((share, i) => ({
    label: name(i),
    share,
    figure: percent(share),
    best: i === best,
  }));
  if (rows.length <= MOST_ROWS) return rows;
  return rows.sort((a, b) => b.share - a.share).slice(0, LIKELIEST);
}

/** Returns one sentence on a version's answer. */
export function guessSentence(rows: readonly AnswerRow[]): string {
  const best = rows.find((row) => row.best);
  return best ? say.trial.sure(best.label, best.figure) : say.trial.numbers(figures(rows));
}

/** Returns one sentence on the answers of the version before an update and of the one after it. */
export function comparisonSentence(before: readonly AnswerRow[], after: readonly AnswerRow[]): string {
  const [was, is] = [before, after].map((rows) => rows.find((row) => row.best));
  if (was && is) return say.trial.sures(was.label, was.figure, is.label, is.figure);
  return say.trial.bothNumbers(figures(before), figures(after));
}

function figures(rows: readonly AnswerRow[]): string {
  return rows.map(({ label, figure }) => `${label}: ${figure}`).join(", ");
}

/** Returns the sentence on the parts of a text that were left out; empty if there are none. */
export function leftOutSentence(lacking: readonly string[]): string {
  return lacking.length === 0 ? "" : say.trial.leftOut(lacking.slice(0, MOST_ROWS).join(" "));
}

/** Returns the numbers in a text, separated by spaces, commas, semicolons or lines. Throws an Error for people. */
export function numbersIn(text: string): number[] {
  const words = text.split(/[\s,;]+/).filter((word) => word !== "");
  const wrong = words.find((word) => !Number.isFinite(Number(word)));
  if (wrong !== undefined) throw new Error(say.trial.noNumber(wrong));
  return words.map(Number);
}
