import { describe, expect, it } from "vitest";
import type { TableSpec } from "../../../../../webapp/static/src/core/preprocessing/declaration";
import { all, golden, read } from "./file-reading";
import { type Golden, vectors } from "./vectors";

interface Case {
  readonly fitted: TableSpec;
  readonly csv: string;
  readonly x?: readonly Golden[];
  readonly y?: readonly Golden[];
  readonly error?: { readonly row: number | null; readonly column: string | null };
}

const cases = vectors<Case>("table");
const good = cases.filter(({ error }) => error === undefined);
const bad = cases.filter(({ error }) => error !== undefined);

describe("a table", () => {
  it.each(good.map((one) => [one.csv, one] as const))(
    "becomes the numbers that Python makes of it: %j",
    async (_, one) => {
      const { understood, report } = await read(one.fitted, { "people.csv": one.csv });
      expect(report.problems).toEqual([]);
      const examples = await all(understood);
      expect(golden(examples, "x", one.x ?? [])).toEqual(one.x);
      expect(golden(examples, "y", one.y ?? [])).toEqual(one.y);
    },
  );

  it.each(bad.map((one) => [one.csv, one] as const))(
    "names row and column of what is wrong, as Python does: %j",
    async (_, one) => {
      const { report } = await read(one.fitted, { "people.csv": one.csv });
      const { row, column } = one.error ?? { row: null, column: null };
      const [problem] = report.problems;
      const told = `${problem?.where} ${problem?.text}`;
      expect(told).toMatch(/^people\.csv/);
      if (row !== null) expect(told.toLowerCase()).toContain(`row ${row}`);
      if (column !== null) expect(told).toContain(`'${column}'`);
    },
  );

  it("keeps the rows that are right", async () => {
    const [{ fitted, csv }] = bad as [Case];
    const { report } = await read(fitted, { "people.csv": csv });
    expect(report.examples).toBe(1);
    expect(report.problemCount).toBe(1);
    expect(report.problems[0]?.text).toBe(
      "Column 'Age': 'x' is no number; write it like 12 or 3.5. The row is left out.",
    );
  });

  it("says what each column became", async () => {
    const [{ fitted, csv }] = good as [Case];
    const { preview } = (await read(fitted, { "people.csv": csv })).report;
    if (preview.kind !== "table") throw new Error("no table");
    expect(preview.columns.map(({ name, role }) => [name, role])).toEqual([
      ["Age", "input"],
      ["Fare", "input"],
      ["Sex", "input"],
      ["Port", "input"],
      ["Lived", "label"],
    ]);
    expect(preview.unused).toEqual(["Name"]);
    expect(preview.columns[0]?.became).toBe("a number, scaled; 28 where it is empty");
    expect(preview.rows[1]?.[0]).toEqual({ raw: null, values: [Math.fround((28 - 29.7) / 14.5), 1] });
  });
});
