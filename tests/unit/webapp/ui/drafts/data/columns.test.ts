import { expect, test } from "vitest";
import { roleOf, withRole } from "../../../../../../webapp/static/src/ui/drafts/data/columns";
import type { DataFindings, FoundColumn } from "../../../../../../webapp/static/src/ui/drafts/data/findings";
import { warnings } from "../../../../../../webapp/static/src/ui/drafts/data/warnings";
import { type DraftTable, mergeTables } from "../../../../../../webapp/static/src/ui/drafts/record";

const column = (name: string, more: Partial<FoundColumn> = {}): FoundColumn => ({
  name,
  kind: "number",
  missing: 0,
  different: 2,
  values: { "0": 3, "1": 5 },
  least: 0,
  mean: 0.5,
  most: 1,
  ...more,
});

const TITANIC: DraftTable = {
  kind: "table",
  columns: [
    { name: "Age", kind: "number", scaling: "standard", missing: "mean" },
    { name: "Sex", kind: "category", missing: "none", unknown: "none" },
  ],
  labels: [{ name: "Survived", kind: "class", classes: ["0", "1"], encoding: "number" }],
};

test("each column has the role that its declaration gives it", () => {
  expect(["Age", "Sex", "Survived", "Name"].map((name) => roleOf(TITANIC, name))).toEqual([
    "number",
    "category",
    "class",
    "ignore",
  ]);
});

test("a column is in one place only, whatever it was before", () => {
  for (const role of ["number", "category", "class", "target", "ignore"] as const) {
    for (const name of ["Age", "Sex", "Survived", "Fare"]) {
      const after = mergeTables(TITANIC, withRole(TITANIC, column(name), role));
      expect(roleOf(after, name)).toBe(role);
      const all = [...(after.columns as DraftTable[]), ...(after.labels as DraftTable[])].map(
        (one) => one.name,
      );
      expect(new Set(all).size).toBe(all.length);
    }
  }
});

test("there is one label, written as the one before it was", () => {
  const after = withRole(TITANIC, column("Sex", { values: { male: 5, female: 3 } }), "class");
  expect(after.labels).toEqual([
    { name: "Sex", kind: "class", classes: ["female", "male"], encoding: "number" },
  ]);
  expect((after.columns as DraftTable[]).map(({ name }) => name)).toEqual(["Age"]);
});

test("numbers with gaps are filled", () => {
  const after = withRole(TITANIC, column("Fare", { missing: 3 }), "number");
  expect((after.columns as DraftTable[]).at(-1)).toEqual({
    name: "Fare",
    kind: "number",
    scaling: "standard",
    missing: "mean",
  });
});

const found = (more: Partial<DataFindings>): DataFindings => ({
  kind: "image",
  examples: 10,
  classes: {},
  columns: [],
  pictures: [],
  arrays: [],
  notes: [],
  ...more,
});

test("an owner is warned of what is unlike and of what is missing, and of nothing else", () => {
  expect(warnings(found({ classes: { cat: 5, dog: 4 }, pictures: [{ width: 8, height: 8 }] }))).toEqual([]);
  expect(warnings(found({ classes: { cat: 50, dog: 5 } }))[0]).toContain("“cat” has 10 times");
  // Said by the look already.
  expect(warnings(found({ classes: { cat: 50, dog: 5 }, notes: ["weigh by class_weight"] }))).toEqual([]);
  const sizes = [
    { width: 90, height: 60 },
    { width: 32, height: 32 },
  ];
  expect(warnings(found({ pictures: sizes }))[0]).toContain("from 32 × 32 to 90 × 60");
  expect(warnings(found({ kind: "table", columns: [column("Age", { missing: 2 })] }))).toEqual([
    "Empty cells in: Age.",
  ]);
});
