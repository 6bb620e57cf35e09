import { expect, test } from "vitest";
import {
  moveRange,
  nearestIndex,
  selectRange,
  shownIndices,
  zoomRange,
} from "../../../../../webapp/static/src/ui/charts/ranges";

const WHOLE = [0, 100] as const;

test("the nearest point is found between, before and after the points", () => {
  const values = [1, 2, 4, 8];
  expect([-5, 1, 2.9, 3.1, 6.5, 99].map((place) => nearestIndex(values, place))).toEqual([0, 0, 1, 2, 3, 3]);
  expect(nearestIndex(values, 3)).toBe(1);
  expect(nearestIndex([], 3)).toBe(-1);
});

test("a drag selects its range in both directions, within the whole", () => {
  expect(selectRange(WHOLE, 20, 60)).toEqual([20, 60]);
  expect(selectRange(WHOLE, 60, 20)).toEqual([20, 60]);
  expect(selectRange(WHOLE, -10, 30)).toEqual([0, 30]);
});

test("a click selects nothing", () => {
  expect(selectRange(WHOLE, 20, 20)).toBeNull();
});

test("zooming keeps the centre in its place and stays within the whole", () => {
  expect(zoomRange(WHOLE, WHOLE, 0.5)).toEqual([25, 75]);
  expect(zoomRange(WHOLE, WHOLE, 0.5, 20)).toEqual([10, 60]);
  expect(zoomRange(WHOLE, [0, 40], 2, 10)).toEqual([0, 80]);
});

test("zooming out to the whole, or beyond, is the whole again", () => {
  expect(zoomRange(WHOLE, [25, 75], 2)).toBeNull();
  expect(zoomRange(WHOLE, [0, 90], 4)).toBeNull();
});

test("there is a narrowest range", () => {
  const [first, last] = zoomRange(WHOLE, [50, 50.1], 0.1) ?? [0, 0];
  expect(last - first).toBeCloseTo(0.1, 10);
});

test("a range moves until the end of the whole", () => {
  expect(moveRange(WHOLE, [20, 40], 0.5)).toEqual([30, 50]);
  expect(moveRange(WHOLE, [20, 40], -2)).toEqual([0, 20]);
  expect(moveRange(WHOLE, [20, 40], 9)).toEqual([80, 100]);
});

test("the points shown are those within the range", () => {
  expect(shownIndices([1, 2, 4, 8], [1.5, 4])).toEqual([1, 2]);
  expect(shownIndices([1, 2, 4, 8], null)).toEqual([0, 3]);
});
