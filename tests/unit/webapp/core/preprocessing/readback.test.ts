import { describe, expect, it } from "vitest";
import type {
  CategoryColumn,
  ColumnRule,
  NumberColumn,
  TableRule,
} from "../../../../../webapp/static/src/core/preprocessing/declaration";
import { shownRow } from "../../../../../webapp/static/src/core/preprocessing/readback";
import { encodeRow, inputValues, openTable } from "../../../../../webapp/static/src/core/preprocessing/table";

const age: NumberColumn = {
  kind: "number",
  column: "Age",
  input: 0,
  missing: "fill",
  fill: 28,
  subtract: 10,
  divide: 4,
  indicator: true,
};
const port: CategoryColumn = {
  kind: "category",
  column: "Port",
  input: 1,
  categories: ["C", "Q"],
  encoding: "one-hot",
  missing: "own",
  unknown: "own",
};
const deck: CategoryColumn = { ...port, column: "Deck", input: 0, encoding: "index" };
const plain: NumberColumn = { ...age, column: "Fare", indicator: false, fill: 0, subtract: 0, divide: 1 };
const columns: readonly ColumnRule[] = [age, port, deck, plain];
const rule: TableRule = {
  delimiter: ",",
  decimal: ".",
  missing: [""],
  columns,
  label_columns: [],
  label: [],
};

/** What is shown again of a line of a table. */
function again(line: string): (string | null)[] {
  const values = encodeRow(openTable(`Age,Port,Deck,Fare\n${line}\n`, rule), rule, 0);
  const x = [0, 1].map((input) => Float32Array.from(inputValues(values, rule, input)));
  return shownRow(rule, x).map(({ text }) => text);
}

describe("a stored row, shown again", () => {
  it("has the cells that were written", () => {
    expect(again("29.5,Q,C,7.25")).toEqual(["29.5", "Q", "C", "7.25"]);
  });

  it("tells what was empty, and what the task does not know", () => {
    expect(again(",,,1")).toEqual([null, null, null, "1"]);
    expect(again("1,X,X,1")).toEqual(["1", "?", "?", "1"]);
  });

  it("names the columns", () => {
    const x = [new Float32Array(4), new Float32Array(4)];
    expect(shownRow(rule, x).map(({ name }) => name)).toEqual(["Age", "Port", "Deck", "Fare"]);
  });
});
