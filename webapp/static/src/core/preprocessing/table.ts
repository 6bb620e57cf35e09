/** Converts rows of a table to the numbers that are stored. */

import { asValue, later } from "../user-messages";
import { DataProblem } from "./data-problem";
import type { CategoryColumn, ColumnRule, NumberColumn, TableRule } from "./declaration";
import { checkWidth, csvRows, findColumns, trimCell } from "./files/csv";
import { encodeLabel } from "./labels";
import { parseNumber } from "./numbers";

/** A table with its columns located; cells are trimmed, and messages count rows from 1. */
export interface TableReader {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The position of each column of the rule, then of each label. */
  readonly positions: readonly number[];
}

/** Stored values of one row. */
export interface RowValues {
  /** Of each column of the rule. */
  readonly columns: readonly (readonly number[])[];
  /** Of each label. */
  readonly labels: readonly (readonly number[])[];
}

/** Opens a table. Throws DataProblem if it is none, or columns are missing. */
export function openTable(text: string, rule: TableRule): TableReader {
  const [header, ...rows] = csvRows(text, rule.delimiter);
  if (header === undefined)
    throw new DataProblem(later("The table is empty. Its first row must name the columns"));
  const names = [...rule.columns.map(({ column }) => column), ...rule.label_columns];
  return {
    header: header.map(trimCell),
    rows: rows.map((row) => row.map(trimCell)),
    positions: findColumns(header, names),
  };
}

function emptyCell(): DataProblem {
  return new DataProblem(later("it is empty, and this column must not be"));
}

function encodeNumber(rule: NumberColumn, cell: string, missing: boolean, decimal: string): number[] {
  if (missing && rule.missing === "error") throw emptyCell();
  const value = missing ? rule.fill : parseNumber(cell, decimal);
  const stored = Math.fround((value - rule.subtract) / rule.divide);
  return rule.indicator ? [stored, missing ? 1 : 0] : [stored];
}

/** Returns the category's position of a cell; null for a cell without one. */
function position(rule: CategoryColumn, cell: string, missing: boolean): number | null {
  const { categories } = rule;
  const index = missing ? -1 : categories.indexOf(cell);
  if (index >= 0) return index;
  const what = missing ? rule.missing : rule.unknown;
  if (what === "none") return null;
  if (what === "own") return categories.length + (!missing && rule.missing === "own" ? 1 : 0);
  if (missing) throw emptyCell();
  throw new DataProblem(later("'%(cell)s' is none of %(categories)s", { cell, categories }));
}

/** Returns the number of values that a column's cell is stored as. */
export function columnWidth(rule: ColumnRule): number {
  if (rule.kind === "number") return rule.indicator ? 2 : 1;
  if (rule.encoding === "index") return 1;
  const own = [rule.missing, rule.unknown].filter((what) => what === "own");
  return rule.categories.length + own.length;
}

function encodeCategory(rule: CategoryColumn, cell: string, missing: boolean): number[] {
  const index = position(rule, cell, missing);
  if (rule.encoding === "index") return [index ?? 0];
  return Array.from({ length: columnWidth(rule) }, (_, i) => (i === index ? 1 : 0));
}

/** Adds the column's name to a problem. */
function inColumn<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (problem) {
    if (!(problem instanceof DataProblem)) throw problem;
    const values = { column: name, problem: asValue(problem.userMessage) };
    throw new DataProblem(later("Column '%(column)s': %(problem)s", values));
  }
}

/** Returns the stored values of each column of the rule, given its cell. Throws DataProblem that names the column. */
export function encodeCells(rule: TableRule, cells: readonly string[]): number[][] {
  return rule.columns.map((column, i) =>
    inColumn(column.column, () => {
      const cell = cells[i] ?? "";
      const missing = rule.missing.includes(cell);
      return column.kind === "number"
        ? encodeNumber(column, cell, missing, rule.decimal)
        : encodeCategory(column, cell, missing);
    }),
  );
}

/** Returns the stored values of row `index` (from 0). Throws DataProblem that names the column. */
export function encodeRow(table: TableReader, rule: TableRule, index: number): RowValues {
  const row = table.rows[index] as readonly string[];
  checkWidth(row, table.header);
  const cell = (i: number) => row[table.positions[i] as number] as string;
  const columns = encodeCells(
    rule,
    rule.columns.map((_, i) => cell(i)),
  );
  const labels = rule.label.map((label, i) =>
    inColumn(rule.label_columns[i] as string, () => {
      const text = cell(rule.columns.length + i);
      if (rule.missing.includes(text)) throw new DataProblem(later("it is empty, and a label must not be"));
      return encodeLabel(label, text, rule.decimal);
    }),
  );
  return { columns, labels };
}

/** Returns the values of the model's input `input`: those of its columns, one after the other. */
export function inputValues(values: RowValues, rule: TableRule, input: number): number[] {
  return values.columns.filter((_, i) => rule.columns[i]?.input === input).flat();
}
