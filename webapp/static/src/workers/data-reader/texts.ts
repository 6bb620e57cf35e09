/** Reads texts as token ids: windows of running text, or one example per text. */

import { type Examples, pickRows } from "../../core/data/examples";
import type { OwnFile, Preview } from "../../core/messages/data-reader";
import { collect, type Example, emptyColumn, examplesOf } from "../../core/preprocessing/columns";
import { DataProblem } from "../../core/preprocessing/data-problem";
import type { DataSpec, LabelRule, TextSpec } from "../../core/preprocessing/declaration";
import { splitShuffled, splitWindows } from "../../core/preprocessing/example-order";
import { checkWidth, csvRows, findColumns, trimCell } from "../../core/preprocessing/files/csv";
import { decodeTable, decodeText } from "../../core/preprocessing/files/text-file";
import { encodeLabel } from "../../core/preprocessing/labels";
import { Tokenizer } from "../../core/preprocessing/text/tokens";
import { padIds, windowStarts } from "../../core/preprocessing/text/windows";
import { later, type UserMessage } from "../../core/user-messages";
import { labelByFolder } from "./folders";
import {
  countClasses,
  FILE_LEFT_OUT,
  LEFT_OUT,
  type Problems,
  type ReadExamples,
  type ReadResult,
  ROW_LEFT_OUT,
  rowOf,
} from "./result";

const TOKENS_SHOWN = 60;

/** Reads the texts of all files, in their order. */
export function readTexts(
  rule: TextSpec,
  { holdout }: DataSpec["volunteer"],
  files: readonly OwnFile[],
  problems: Problems,
  reading: ReadResult,
): Promise<ReadExamples> {
  const tokenizer = new Tokenizer(rule);
  return rule.label === null
    ? readWindows(rule, holdout, tokenizer, files, problems, reading)
    : readLabelled(rule, rule.label, holdout, tokenizer, files, problems, reading);
}

/** Counts tokens, and keeps the first ones to show. */
class ShownText {
  #first: number[] = [];
  #count = 0;
  #unknown = 0;

  constructor(private readonly tokenizer: Tokenizer) {}

  add(ids: readonly number[]): void {
    if (this.#first.length === 0) this.#first = ids.slice(0, TOKENS_SHOWN);
    this.#count += ids.length;
    const { unknown } = this.tokenizer;
    if (unknown !== null) for (const id of ids) if (id === unknown) this.#unknown += 1;
  }

  get preview(): Preview {
    const { unknown } = this.tokenizer;
    const tokens = this.#first.map((id) => ({ id, text: this.tokenizer.show(id), unknown: id === unknown }));
    return { kind: "text", tokens, count: this.#count, unknown: this.#unknown / Math.max(1, this.#count) };
  }
}

async function readWindows(
  rule: TextSpec,
  holdout: number,
  tokenizer: Tokenizer,
  files: readonly OwnFile[],
  problems: Problems,
  reading: ReadResult,
): Promise<ReadExamples> {
  const shown = new ShownText(tokenizer);
  const ids: number[] = [];
  const starts: number[] = [];
  for (const [i, { path, file }] of files.entries()) {
    await problems.guard(path, FILE_LEFT_OUT, async () => {
      const tokens = tokenizer.encode(decodeText(await file.arrayBuffer()));
      const own = windowStarts(tokens.length, rule.length, rule.stride);
      if (own.length === 0) {
        throw new DataProblem(
          later("It has %(tokens)s tokens; an example takes %(needed)s", {
            tokens: tokens.length,
            needed: rule.length + 1,
          }),
        );
      }
      for (const start of own) starts.push(ids.length + start);
      for (const id of tokens) ids.push(id);
      shown.add(tokens);
    });
    reading(i + 1);
  }
  const [input] = rule.inputs;
  const typed = input?.dtype === "uint8" ? Uint8Array.from(ids) : Int32Array.from(ids);
  return {
    count: starts.length,
    split: splitWindows(starts, rule.length, holdout),
    classes: null,
    preview: shown.preview,
    take: async (numbers) => takeWindows(rule, typed, starts, numbers),
  };
}

function takeWindows(
  rule: TextSpec,
  ids: Uint8Array | Int32Array,
  starts: readonly number[],
  numbers: Uint32Array,
): Examples {
  const [input, label] = [...rule.inputs, ...rule.labels].map((spec) => emptyColumn(spec, numbers.length));
  if (input === undefined || label === undefined)
    throw new Error(later("Windows of text need an input and a label."));
  numbers.forEach((number, i) => {
    const start = starts[number] as number;
    input.values.set(ids.subarray(start, start + rule.length), i * rule.length);
    label.values.set(ids.subarray(start + 1, start + 1 + rule.length), i * rule.length);
  });
  return examplesOf(numbers.length, [input], [label]);
}

/** A text and its class. */
interface LabelledText {
  readonly where: UserMessage;
  readonly text: string;
  readonly label: string;
}

async function readLabelled(
  rule: TextSpec,
  label: LabelRule,
  holdout: number,
  tokenizer: Tokenizer,
  files: readonly OwnFile[],
  problems: Problems,
  reading: ReadResult,
): Promise<ReadExamples> {
  const shown = new ShownText(tokenizer);
  const examples: Example[] = [];
  const classes: string[] = [];
  const texts =
    rule.text_column === null ? fromFolders(label, files, problems) : fromTables(rule, files, problems);
  let done = 0;
  for await (const one of texts) {
    await problems.guard(one.where, LEFT_OUT, () => {
      const ids = tokenizer.encode(one.text);
      examples.push({ x: [padIds(ids, rule.length)], y: [encodeLabel(label, one.label)] });
      classes.push(one.label);
      shown.add(ids);
    });
    done += 1;
    reading(Math.min(done, files.length));
  }
  const all = collect(examples, rule.inputs, rule.labels);
  return {
    count: all.count,
    split: splitShuffled(all.count, holdout),
    classes: label.kind === "class" ? countClasses(label.classes, classes) : null,
    preview: shown.preview,
    take: async (numbers) => pickRows(all, numbers),
  };
}

async function* fromFolders(
  label: LabelRule,
  files: readonly OwnFile[],
  problems: Problems,
): AsyncGenerator<LabelledText> {
  for (const { path, file, label: name } of labelByFolder(files, label, problems)) {
    const text = await problems.guard(path, FILE_LEFT_OUT, async () => decodeText(await file.arrayBuffer()));
    if (text !== null) yield { where: path, text, label: name };
  }
}

async function* fromTables(
  { text_column, label_column, delimiter }: TextSpec,
  files: readonly OwnFile[],
  problems: Problems,
): AsyncGenerator<LabelledText> {
  for (const { path, file } of files) {
    const table = await problems.guard(path, FILE_LEFT_OUT, async () => {
      const [header = [], ...rows] = csvRows(decodeTable(await file.arrayBuffer()), delimiter);
      return { header, rows, columns: findColumns(header, [text_column ?? "", label_column ?? ""]) };
    });
    for (const [index, row] of (table?.rows ?? []).entries()) {
      const where = rowOf(path, index);
      const result = await problems.guard(where, ROW_LEFT_OUT, () => {
        checkWidth(row, table?.header ?? []);
        const [text = "", label = ""] = (table?.columns ?? []).map((column) => row[column] ?? "");
        return { where, text, label: trimCell(label) };
      });
      if (result !== null) yield result;
    }
  }
}
