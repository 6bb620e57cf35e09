import { expect, test } from "vitest";
import { overlay } from "../../../../../webapp/static/src/ui/charts/overlays";

test("curves of several tasks share the places of all", () => {
  const own = [
    [0, 1, 2],
    [9, 8, 7],
    [6, null, 4],
  ];
  const other = [
    [1, 3],
    [5, 3],
  ];
  expect(overlay([own, other])).toEqual([
    [0, 1, 2, 3],
    [9, 8, 7, null],
    [6, null, 4, null],
    [null, 5, null, 3],
  ]);
});

test("a task without points changes nothing", () => {
  expect(
    overlay([
      [[1], [2]],
      [[], []],
    ]),
  ).toEqual([[1], [2], [null]]);
  expect(overlay([])).toEqual([[]]);
});
