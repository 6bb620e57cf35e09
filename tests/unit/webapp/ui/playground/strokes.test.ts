import fc from "fast-check";
import { expect, test } from "vitest";
import {
  gridOf,
  type Stroke,
  type StrokePoint,
} from "../../../../../webapp/static/src/ui/playground/strokes";

const point = fc.record({
  x: fc.double({ min: 0, max: 224, noNaN: true }),
  y: fc.double({ min: 0, max: 224, noNaN: true }),
});
const strokes = fc.array(fc.array(point, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 3 });

function moved(drawing: readonly Stroke[], scale: number, dx: number, dy: number): readonly Stroke[] {
  return drawing.map((stroke) => stroke.map(({ x, y }) => ({ x: x * scale + dx, y: y * scale + dy })));
}

function total(grid: Float32Array): number {
  return grid.reduce((sum, value) => sum + value, 0);
}

test("any drawing becomes 64 whole values from 0 to 16, with some ink", () => {
  fc.assert(
    fc.property(strokes, (drawing) => {
      const grid = gridOf(drawing);
      expect(grid).toHaveLength(64);
      expect(grid.every((value) => Number.isInteger(value) && value >= 0 && value <= 16)).toBe(true);
      expect(total(grid)).toBeGreaterThan(0);
    }),
    { numRuns: 50 },
  );
});

test("size and place of a drawing do not matter", () => {
  const line: readonly StrokePoint[] = [
    { x: 10, y: 20 },
    { x: 60, y: 20 },
    { x: 30, y: 90 },
  ];
  // Powers of two keep the arithmetic exact.
  expect(gridOf(moved([line], 2, 64, 32))).toEqual(gridOf([line]));
});

test("nothing drawn is nothing", () => {
  expect(total(gridOf([]))).toBe(0);
});

test("an upright line fills the middle columns from top to bottom", () => {
  const grid = gridOf([
    [
      { x: 100, y: 10 },
      { x: 100, y: 200 },
    ],
  ]);
  for (let row = 0; row < 8; row += 1) {
    const values = [...grid.slice(row * 8, row * 8 + 8)];
    expect(values.slice(0, 3)).toEqual([0, 0, 0]);
    expect(values.slice(5)).toEqual([0, 0, 0]);
    expect((values[3] ?? 0) + (values[4] ?? 0)).toBeGreaterThan(8);
  }
});
