import { expect, test } from "vitest";
import { hourBars, reasonsOf } from "../../../../../webapp/static/src/ui/manage/refusal-bars";

const HOURS = [
  { at: 3600, refusals: { "stale-round": 3, over: 1 } },
  { at: 10_800, refusals: { over: 5 } },
];

test("the commonest reason comes first", () => {
  expect(reasonsOf(HOURS)).toEqual(["over", "stale-round"]);
});

test("hours without refusals have an empty bar", () => {
  expect(hourBars(HOURS, reasonsOf(HOURS))).toEqual([
    { at: 3600, counts: [1, 3], sum: 4 },
    { at: 7200, counts: [0, 0], sum: 0 },
    { at: 10_800, counts: [5, 0], sum: 5 },
  ]);
  expect(hourBars([], [])).toEqual([]);
});

test("rare reasons are summed once there are too many", () => {
  const hours = [{ at: 0, refusals: { a: 9, b: 8, c: 7, d: 6, e: 2, f: 1 } }];
  expect(reasonsOf(hours)).toEqual(["a", "b", "c", "d", ""]);
  expect(hourBars(hours, reasonsOf(hours))[0]?.counts).toEqual([9, 8, 7, 6, 3]);
});
