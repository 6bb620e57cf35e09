/** Reads tables of numbers and categories from CSV files. */

import { pickRows } from "../../core/data/examples";
import type { CellPreview, ColumnPreview, OwnFile, Preview } from "../../core/messages/data-reader";
import { collect, type Example } from "../../core/preprocessing/columns";
import type { ColumnRule, DataSpec, TableSpec } from "../../core/preprocessing/declaration";
import { splitShuffled } from "../../core/preprocessing/example-order";
import { decodeTable } from "../../core/preprocessing/files/text-file";
import {
  encodeRow,
  inputValues,
  openTable,
  type RowValues,
  type TableReader,
} from "../../core/preprocessing/table";
import { type FilledMessage, later, type UserMessage } from "../../core/user-messages";
import {
  countClasses,
  FILE_LEFT_OUT,
  type Problems,
  type ReadExamples,
  type ReadResult,
  ROW_LEFT_OUT,
  rowOf,
} from "./result";

const ROWS_SHOWN = 6;

/** Reads the rows of all files, in their order. */
export async function readTables(
  rule: TableSpec,
  { holdout }: DataSpec["volunteer"],
  files: readonly OwnFile[],
  problems: Problems,
  reading: ReadResult,
): Promise<ReadExamples> {
  const examples: Example[] = [];
  const classes: string[] = [];
  let preview: Preview = { kind: "table", columns: [], rows: [], unused: [] };
  for (const [i, { path, file }] of files.entries()) {
    const table = await problems.guard(path, FILE_LEFT_OUT, async () =>
      openTable(decodeTable(await file.arrayBuffer()), rule),
    );
    if (table !== null) {
      const read = await readRows(table, rule, path, problems);
      for (const { values, index } of read) {
        examples.push({
          x: rule.inputs.map((_, input) => inputValues(values, rule, input)),
          y: values.labels,
        });
        classes.push(labelCell(table, rule, index));
      }
      if (preview.rows.length === 0 && read.length > 0) preview = previewOf(table, rule, read);
    }
    reading(i + 1);
  }
  const all = collect(examples, rule.inputs, rule.labels);
  const [label, ...others] = rule.label;
  return {
    count: all.count,
    split: splitShuffled(all.count, holdout),
    classes: label?.kind === "class" && others.length === 0 ? countClasses(label.classes, classes) : null,
    preview,
    take: async (numbers) => pickRows(all, numbers),
  };
}

interface ReadRow {
  readonly index: number;
  readonly values: RowValues;
}

async function readRows(
  table: TableReader,
  rule: TableSpec,
  path: string,
  problems: Problems,
): Promise<ReadRow[]> {
  const read: ReadRow[] = [];
  for (let index = 0; index < table.rows.length; index++) {
    const values = await problems.guard(rowOf(path, index), ROW_LEFT_OUT, () =>
      encodeRow(table, rule, index),
    );
    if (values !== null) read.push({ index, values });
  }
  return read;
}

/** Returns the first label of a row as written. */
function labelCell(table: TableReader, rule: TableSpec, index: number): string {
  return table.rows[index]?.[table.positions[rule.columns.length] as number] ?? "";
}

/** Returns previews of the columns used, in the rule's order, then the labels. */
function previewOf(
  table: TableReader,
  rule: TableSpec,
  read: readonly ReadRow[],
): Extract<Preview, { kind: "table" }> {
  const inputs = rule.columns.map(
    (column): ColumnPreview => ({ name: column.column, became: describeConversion(column), role: "input" }),
  );
  const labels = rule.label_columns.map(
    (name): ColumnPreview => ({ name, became: later("what the model learns to tell"), role: "label" }),
  );
  const rows = read.slice(0, ROWS_SHOWN).map(({ index, values }) =>
    [...values.columns, ...values.labels].map((stored, i): CellPreview => {
      const raw = table.rows[index]?.[table.positions[i] as number] ?? "";
      return { raw: rule.missing.includes(raw) ? null : raw, values: stored };
    }),
  );
  const unused = table.header.filter((_, position) => !table.positions.includes(position));
  return { kind: "table", columns: [...inputs, ...labels], rows, unused };
}

/** Describes the conversion of a column, for people. */
export function describeConversion(column: ColumnRule): UserMessage {
  if (column.kind === "category") {
    const { categories, encoding } = column;
    const values = { count: categories.length, categories };
    return encoding === "index"
      ? later("one of %(count)s: %(categories)s, as its number", values)
      : later("one of %(count)s: %(categories)s", values);
  }
  const scaled = column.subtract !== 0 || column.divide !== 1;
  const what: FilledMessage = scaled ? later("a number, scaled", {}) : later("a number", {});
  if (column.missing === "error") return what;
  const fill = String(Number(column.fill.toPrecision(4)));
  return later("%(what)s; %(fill)s where it is empty", { what, fill });
}
