import { expect, test } from "vitest";
import { legendRows } from "../../../../../webapp/static/src/ui/charts/chart-image";
import { indexAfter } from "../../../../../webapp/static/src/ui/charts/step-keys";

test("arrows pass one point, pages ten, and nothing leaves the chart", () => {
  expect(indexAfter("ArrowRight", 3, 50)).toBe(4);
  expect(indexAfter("ArrowLeft", 0, 50)).toBe(0);
  expect(indexAfter("PageUp", 45, 50)).toBe(49);
  expect(indexAfter("PageDown", 45, 50)).toBe(35);
  expect(indexAfter("Home", 45, 50)).toBe(0);
  expect(indexAfter("End", 45, 50)).toBe(49);
});

test("other keys, and an empty chart, move nothing", () => {
  expect(indexAfter("a", 3, 50)).toBeNull();
  expect(indexAfter("ArrowRight", 0, 0)).toBeNull();
});

test("the legend of a picture begins a new row where an entry does not fit", () => {
  expect(legendRows([60, 60, 30, 200], 100)).toEqual([
    [{ entry: 0, left: 0 }],
    [
      { entry: 1, left: 0 },
      { entry: 2, left: 60 },
    ],
    [{ entry: 3, left: 0 }],
  ]);
});
