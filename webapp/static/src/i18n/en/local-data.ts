import { listNames } from "../../core/preprocessing/labels";
import { counted, number, percent } from "../formatting";

type LocalDataKind = "image" | "table" | "text" | "array";

const THINGS: Readonly<Record<LocalDataKind, readonly [one: string, many: string]>> = {
  image: ["picture", "pictures"],
  table: ["row", "rows"],
  text: ["passage", "passages"],
  array: ["example", "examples"],
};

const things = (kind: LocalDataKind, count: number) => counted(count, ...THINGS[kind]);

/** A volunteer's own files. */
export const own = {
  things,
  wanted: (minimum: number, kind: LocalDataKind, maximum: number) =>
    `This task needs ${number(minimum)} to ${things(kind, maximum)} from each device.`,
  byFolder: (names: readonly string[]) =>
    `Put them into folders named ${listNames(names)}, or choose a class below before you add files. You may add more, one after the other.`,
  table: (names: readonly string[]) =>
    `Choose a CSV file whose first row names the columns; it needs ${listNames(names)}.`,
  textTable: (text: string, label: string) => `Choose a CSV file with the columns ${text} and ${label}.`,
  texts: "Choose text files (UTF-8).",
  arrays: (names: readonly string[]) => `Choose .npz files with the arrays ${listNames(names)}.`,
  ready: (kind: LocalDataKind, examples: number, train: number) =>
    `${things(kind, examples)} ready: ${number(train)} to learn from.`,
  readyHeld: (kind: LocalDataKind, examples: number, train: number, held: number) =>
    `${things(kind, examples)} ready: ${number(train)} to learn from, ${number(held)} kept aside to measure on.`,
  problems: (count: number) =>
    counted(count, "thing is not as it should be", "things are not as they should be"),
  problemsSuchAs: (count: number) =>
    `${counted(count, "thing is not as it should be", "things are not as they should be")}, such as`,
  notFetched: "What this task needs cannot be fetched. Reload the page to try again.",
  notDropped: "What you dropped cannot be read. Choose the files with the buttons instead.",
  reading: (done: number, total: number) => `Reading: ${number(done)} of ${number(total)} files`,
  nothing: "Nothing is chosen yet.",
  kept: (files: number) => `${counted(files, "file is", "files are")} kept in this browser.`,
  noRoom: "This browser has no room for these files, so none is kept. They can be trained on all the same.",
  forgotten: "The files are deleted from this browser. Where you took them from, they stay.",
  asSeen: (width: number, height: number) => `As the model sees them, ${width} by ${height} pixels:`,
  emptyCell: "empty",
  firstRows: "First rows",
  rowsBecome: "The first rows; below each cell, the numbers that the model gets:",
  unused: (names: readonly string[]) => `Not used: ${listNames(names)}.`,
  unknownToken: (id: number) => `${id}: not in the task's vocabulary`,
  tokens: (count: number) => `${number(count)} tokens. The first ones:`,
  tokensUnknown: (count: number, unknown: number) =>
    `${number(count)} tokens. ${percent(unknown)} of them are not in the task’s vocabulary. The first ones:`,
};
