/** What stored values were before they were stored, as people wrote it: for showing an example again. */

import type { Values } from "../data/shard";
import type { CategoryColumn, ColumnRule, NumberColumn, TableRule } from "./declaration";
import { columnWidth } from "./table";

export interface ShownCell {
  readonly name: string;
  /** Null where it was empty. */
  readonly text: string | null;
}

/** The cells of a row whose stored values are `x`, an array for each input. What was filled in shows as what it was filled with. */
export function shownRow({ columns }: Pick<TableRule, "columns">, x: readonly Values[]): ShownCell[] {
  const taken = x.map(() => 0);
  return columns.map((rule) => {
    const width = columnWidth(rule);
    const from = taken[rule.input] ?? 0;
    taken[rule.input] = from + width;
    return { name: rule.column, text: shown(rule, x[rule.input]?.slice(from, from + width) ?? []) };
  });
}

function shown(rule: ColumnRule, values: ArrayLike<number>): string | null {
  return rule.kind === "number" ? shownNumber(rule, values) : shownCategory(rule, values);
}

function shownNumber(
  { subtract, divide, indicator }: NumberColumn,
  values: ArrayLike<number>,
): string | null {
  if (indicator && values[1] === 1) return null;
  return Number(((values[0] ?? 0) * divide + subtract).toPrecision(6)).toString();
}

function shownCategory(
  { categories, encoding, missing }: CategoryColumn,
  values: ArrayLike<number>,
): string | null {
  const position = encoding === "index" ? (values[0] ?? -1) : Array.from(values).indexOf(1);
  if (position < categories.length) return categories[position] ?? null;
  // Categories of their own stand behind the others: the missing ones, then the unknown ones.
  return missing === "own" && position === categories.length ? null : "?";
}
