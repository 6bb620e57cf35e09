/** Converts stored values back to what was in the file, to display an example. */

import type { Values } from "../data/shard";
import type { CategoryColumn, ColumnRule, NumberColumn, TableRule } from "./declaration";
import { columnWidth } from "./table";

export interface ShownCell {
  readonly name: string;
  /** Null if the cell was empty. */
  readonly text: string | null;
}

/**
 * Returns the cells of a row whose stored values are `x`, an array for each input. Missing cells show the value that
 * replaced them.
 */
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
  // Additional categories follow the others: the missing ones, then the unknown ones.
  return missing === "own" && position === categories.length ? null : "?";
}
