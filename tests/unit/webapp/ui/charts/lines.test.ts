import { expect, test } from "vitest";
import {
  type CurveLine,
  drawnLines,
  lineSignature,
  type Points,
  WHOLE_VIEW,
  wholeRange,
} from "../../../../../webapp/static/src/ui/charts/lines";

const line = (label: string, more: Partial<CurveLine> = {}): CurveLine => ({
  label,
  colour: "--progress",
  side: "left",
  format: String,
  ...more,
});
const LINES = [line("loss"), line("p90", { faint: true }), line("left behind", { rare: true })];
const POINTS: Points = [
  [1, 2, 3],
  [4, 2, 0],
  [5, 4, 3],
  [null, null, null],
];

test("curves are drawn as they are, without a rare one that has no point", () => {
  const drawn = drawnLines(LINES, POINTS, WHOLE_VIEW);
  expect(drawn.map(({ line, column }) => [line.label, column])).toEqual([
    ["loss", [4, 2, 0]],
    ["p90", [5, 4, 3]],
  ]);
});

test("a smoothed curve has the raw one behind it, a faint one has none", () => {
  const drawn = drawnLines(LINES, POINTS, { ...WHOLE_VIEW, smoothing: 0.5 });
  expect(drawn.map(({ line, isBehind }) => [line.label, isBehind])).toEqual([
    ["loss", true],
    ["loss", false],
    ["p90", false],
  ]);
  expect(drawn[0]?.column).toEqual([4, 2, 0]);
  expect(drawn[1]?.column[1]).toBeCloseTo(8 / 3, 10);
  expect(drawn[1]?.raw).toEqual([4, 2, 0]);
});

test("a logarithmic scale has no place for zero", () => {
  expect(drawnLines(LINES, POINTS, { ...WHOLE_VIEW, isLog: true })[0]?.column).toEqual([4, 2, null]);
});

test("lines are built again for another scale and other lines, not for other values", () => {
  const signature = (view: Partial<typeof WHOLE_VIEW>, points = POINTS) =>
    lineSignature(drawnLines(LINES, points, { ...WHOLE_VIEW, ...view }), { ...WHOLE_VIEW, ...view });
  expect(signature({ smoothing: 0.2 })).toBe(signature({ smoothing: 0.9, range: [1, 2] }));
  expect(signature({})).not.toBe(signature({ isLog: true }));
  expect(signature({})).not.toBe(signature({ smoothing: 0.2 }));
  expect(signature({})).not.toBe(signature({}, [...POINTS.slice(0, 3), [1, null, null]]));
});

test("the whole range goes from the first point to the last", () => {
  expect(wholeRange(POINTS)).toEqual([1, 3]);
  expect(wholeRange([[1]])).toBeNull();
  expect(wholeRange([])).toBeNull();
});
