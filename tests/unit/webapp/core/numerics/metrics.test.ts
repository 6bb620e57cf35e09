import { expect, test } from "vitest";
import { metricValues } from "../../../../../webapp/static/src/core/numerics/metrics";

test("each metric takes its own rows of numerators and denominators", () => {
  const specs = [
    { name: "accuracy", kind: "ratio" },
    { name: "rmse", kind: "root" },
    { name: "hits", kind: "sum" },
    { name: "overlap", kind: "mean", rows: 3 },
    { name: "auc", kind: "auc", rows: 3 },
  ] as const;
  const sums = [3, 4, 18, 2, 7, 0, 1, 2, 0, 0, 3, 3, 4, 2, 3, 1, 0, 0];
  // By trapezoids: (2 - 1) * (4 + 3) + (1 - 0) * (3 + 0) over twice 4 * 2.
  expect(metricValues(specs, sums)).toEqual([0.75, 3, 7, 0.75, 10 / 16]);
});

test("a metric that counted nothing is 0", () => {
  const specs = [
    { name: "a", kind: "ratio" },
    { name: "b", kind: "root" },
    { name: "c", kind: "mean", rows: 2 },
    { name: "d", kind: "auc", rows: 2 },
  ] as const;
  expect(metricValues(specs, new Array(12).fill(0))).toEqual([0, 0, 0, 0]);
});
