/** What people show a model is read as files to train on are: the golden files hold both to Python. */

import { describe, expect, it } from "vitest";
import type { PartSpec } from "../../../../../webapp/static/src/core/data/bundle";
import type { PlaygroundQuestion } from "../../../../../webapp/static/src/core/messages/playground";
import type {
  ImageSpec,
  Preprocess,
  TableSpec,
  TextSpec,
} from "../../../../../webapp/static/src/core/preprocessing/declaration";
import { csvRows, trimCell } from "../../../../../webapp/static/src/core/preprocessing/files/csv";
import type { Pixels } from "../../../../../webapp/static/src/core/preprocessing/images/pixels";
import { storedInputs } from "../../../../../webapp/static/src/workers/playground/input-values";
import { type Golden, vectors } from "../../core/preprocessing/vectors";

interface Case<S> {
  readonly fitted: S;
  readonly csv: string;
  readonly text: string;
  readonly x?: readonly Golden[];
  readonly error?: unknown;
}

const noPictures = () => Promise.reject(new Error("No pictures here."));

function parts(rule: Preprocess): PartSpec[] {
  return rule.inputs.map(({ shape }, i) => ({ name: `x${i}`, shape, dtype: "float32" }));
}

function stored(question: PlaygroundQuestion, rule: Preprocess, decode: () => Promise<Pixels> = noPictures) {
  return storedInputs(question, rule, parts(rule), decode);
}

/** The first example of golden values [n, ...]. */
function firstOf({ shape, values }: Golden): number[] {
  return values.slice(0, values.length / (shape[0] as number));
}

const tables = vectors<Case<TableSpec>>("table").filter(({ error }) => error === undefined);

describe("a row", () => {
  it.each(tables.map((one) => [one.csv, one] as const))(
    "has the values that Python stores: %j",
    async (_, { fitted, csv, x = [] }) => {
      const [header = [], row = []] = csvRows(csv, fitted.delimiter);
      const cells = fitted.columns.map(({ column }) =>
        trimCell(row[header.map(trimCell).indexOf(column)] ?? ""),
      );
      const values = (await stored({ kind: "row", cells }, fitted)).x;
      expect(values.map((one) => [...Array.from(one)])).toEqual(x.map(firstOf));
    },
  );

  it("with a cell that cannot be is refused by the name of its column", async () => {
    const [{ fitted }] = tables as [Case<TableSpec>];
    const cells = fitted.columns.map((column) => (column.kind === "number" ? "many" : column.categories[0]));
    await expect(stored({ kind: "row", cells: cells as string[] }, fitted)).rejects.toThrow(
      "Column 'Age': 'many' is no number",
    );
  });
});

const texts = vectors<Case<TextSpec>>("text").filter(
  ({ error, fitted }) => !error && fitted.label !== null && fitted.text_column === null,
);

describe("a text", () => {
  it.each(texts.map((one) => [one.text, one] as const))(
    "has the ids that Python stores: %j",
    async (_, { fitted, text, x = [] }) => {
      const values = (await stored({ kind: "text", text }, fitted)).x;
      expect(values.map((one) => [...Array.from(one)])).toEqual(x.map(firstOf));
    },
  );
});

it("a picture has the bytes that Python stores, and is shown as the model sees it", async () => {
  const rule: ImageSpec = {
    format: "minga-preprocess/1",
    kind: "image",
    inputs: [{ shape: [1, 2, 3], dtype: "uint8" }],
    labels: [],
    size: [1, 2],
    channels: 3,
    fit: "stretch",
    resize: "bilinear",
    background: [0, 0, 0],
    label: { kind: "class", classes: ["cat", "dog"], encoding: "index" },
  };
  const pixels = Uint8Array.of(1, 2, 3, 255, 9, 8, 7, 255);
  const decode = async () => ({ width: 2, height: 1, channels: 4, values: pixels });
  const { x, picture } = await stored({ kind: "picture", file: new Blob([]) }, rule, decode);
  expect(Array.from(x[0] ?? [])).toEqual([1, 2, 3, 9, 8, 7]);
  expect(picture?.pixels).toEqual(Uint8ClampedArray.from(pixels));
});

it("numbers that are too few or too many say how many the model takes", async () => {
  const inputs: PartSpec[] = [{ name: "x", shape: [3, 1], dtype: "float32" }];
  const ask = (values: number[]) => storedInputs({ kind: "values", values }, null, inputs, noPictures);
  expect((await ask([1, 2, 3])).x).toEqual([[1, 2, 3]]);
  await expect(ask([1, 2])).rejects.toThrow("The model takes 3 numbers; these are 2");
});
