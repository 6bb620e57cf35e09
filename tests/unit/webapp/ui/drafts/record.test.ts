import { expect, test } from "vitest";
import { joinChanges, mergeTables, tableAt } from "../../../../../webapp/static/src/ui/drafts/record";
import { nameOf } from "../../../../../webapp/static/src/ui/drafts/task-name";

test("a change is merged into tables, null takes a key out, and lists are replaced", () => {
  const task = { title: "A", data: { source: "shards", size: [1, 2] }, training: { epochs: 1 } };
  const change = { data: { size: [8], holdout: 0.2 }, training: null, privacy: { clip: 1 } };
  expect(mergeTables(task, change)).toEqual({
    title: "A",
    data: { source: "shards", size: [8], holdout: 0.2 },
    privacy: { clip: 1 },
  });
  expect(task.data.size).toEqual([1, 2]);
});

test("two changes are one, in which what was taken out stays so", () => {
  const first = { data: { size: null, holdout: 0.1 } };
  const second = { data: { holdout: 0.2 } };
  expect(joinChanges(first, second)).toEqual({ data: { size: null, holdout: 0.2 } });
  const task = { data: { size: [1], source: "shards" } };
  expect(mergeTables(task, joinChanges(first, second))).toEqual(
    mergeTables(mergeTables(task, first), second),
  );
});

test("tables are found by their keys, and are empty where there are none", () => {
  expect(tableAt({ data: { preprocess: { kind: "image" } } }, "data", "preprocess")).toEqual({
    kind: "image",
  });
  expect(tableAt({ data: [1] }, "data", "preprocess")).toEqual({});
});

test.each([
  ["Cats & dögs of Peñón", "cats-dogs-of-penon"],
  ["  --Ärzte, 2026!", "arzte-2026"],
  ["日本", ""],
  [`${"a".repeat(63)} b`, "a".repeat(63)],
])("%s is called %s in addresses", (title, name) => {
  expect(nameOf(title)).toBe(name);
});
