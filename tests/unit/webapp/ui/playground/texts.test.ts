import { expect, test } from "vitest";
import {
  type ClassNames,
  comparisonSentence,
  guessSentence,
  leftOutSentence,
  numbersIn,
  rowsOf,
} from "../../../../../webapp/static/src/ui/playground/texts";

const pets: ClassNames = { labels: ["cat", "dog"], chances: true, logits: false };
const next: ClassNames = { labels: ["the next value"], chances: false, logits: false };

test("the likeliest answer is said with its chance", () => {
  const rows = rowsOf([0.25, 0.75], pets);
  expect(rows.map(({ label, share, best }) => [label, share, best])).toEqual([
    ["cat", 0.25, false],
    ["dog", 0.75, true],
  ]);
  expect(guessSentence(rows)).toBe("It says dog: 75.0\u202f% sure.");
});

test("what was said before an update stands beside what is said with it", () => {
  const [before, after] = [rowsOf([0.75, 0.25], pets), rowsOf([0.25, 0.75], pets)];
  expect(comparisonSentence(before, after)).toBe(
    "Before your update it said cat, 75.0\u202f% sure; with it, dog, 75.0\u202f% sure.",
  );
  expect(comparisonSentence(rowsOf([1.5], next), rowsOf([2], next))).toBe(
    "Before your update it said the next value: 1.5; with it, the next value: 2.",
  );
});

test("numbers have no bar", () => {
  const rows = rowsOf([-3.14251], next);
  expect(rows).toEqual([{ label: "the next value", share: null, figure: "-3.143", best: false }]);
  expect(guessSentence(rows)).toBe("It says the next value: -3.143.");
});

test("of many answers the likeliest are shown", () => {
  const output = Array.from({ length: 100 }, (_, i) => i);
  const rows = rowsOf(output, { labels: [], chances: true, logits: true });
  expect(rows.map(({ label }) => label)).toEqual([99, 98, 97, 96, 95, 94, 93, 92, 91, 90].map(String));
});

test("numbers may be parted by whatever people part them with", () => {
  expect(numbersIn(" 1, 2.5;\n-3e2\t4 ")).toEqual([1, 2.5, -300, 4]);
  expect(() => numbersIn("1 two 3")).toThrow("‘two’ is no number");
});

test("what was left out is told, and nothing where nothing was", () => {
  expect(leftOutSentence([])).toBe("");
  expect(leftOutSentence(["é", "7"])).toContain("é 7");
});
