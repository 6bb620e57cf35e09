import { expect, test } from "vitest";
import { smooth } from "../../../../../webapp/static/src/ui/charts/smoothing";

const rounded = (values: readonly (number | null)[]) =>
  values.map((value) => (value === null ? null : Math.round(1000 * value) / 1000));

test("without smoothing a curve stays as it is", () => {
  expect(smooth([3, null, 1], 0)).toEqual([3, null, 1]);
});

test("the bias is corrected: a curve begins at its first value, not at zero", () => {
  // By hand, weight 0.5: 0.5*4 / 0.5 = 4; (0.25*4 + 0.5*2) / 0.75 = 2.667; (0.125*4 + 0.25*2 + 0.5*0) / 0.875.
  expect(rounded(smooth([4, 2, 0], 0.5))).toEqual([4, 2.667, 1.143]);
});

test("a constant stays constant at any weight", () => {
  for (const weight of [0.1, 0.6, 0.99]) {
    for (const value of smooth([7, 7, 7, 7], weight)) expect(value).toBeCloseTo(7, 10);
  }
});

test("a gap stays a gap and does not move the values after it", () => {
  const gapless = smooth([4, 2, 0], 0.5);
  expect(smooth([4, null, 2, Number.NaN, 0], 0.5)).toEqual([gapless[0], null, gapless[1], null, gapless[2]]);
});

test("a smoothed value lies between the least and the largest value so far", () => {
  const values = [5, 1, 9, 2, 8, 3];
  smooth(values, 0.9).forEach((value, index) => {
    const past = values.slice(0, index + 1);
    expect(value).toBeGreaterThanOrEqual(Math.min(...past));
    expect(value).toBeLessThanOrEqual(Math.max(...past));
  });
});

test("a weight of one counts as the largest of the slider", () => {
  expect(smooth([1, 2], 1)).toEqual(smooth([1, 2], 0.99));
});
