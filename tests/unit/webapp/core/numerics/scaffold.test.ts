import { expect, it } from "vitest";
import { combine, controlChange } from "../../../../../webapp/static/src/core/numerics/scaffold";

it("gives the change of option II", () => {
  const server = Float32Array.of(0.5, -1, 0);
  // The last value is state, which has no control variate.
  const update = Float32Array.of(-0.25, 0.5, 1, 9);
  expect(Array.from(controlChange(server, update, 5, 0.1))).toEqual([0, 0, -2]);
});

it("adds and subtracts in float32", () => {
  const [a, b] = [Float32Array.of(0.1, 2), Float32Array.of(0.2, 3)];
  expect(combine(a, b, 1)).toEqual(Float32Array.of((a[0] as number) + (b[0] as number), 5));
  expect(combine(a, b, -1)).toEqual(Float32Array.of((a[0] as number) - (b[0] as number), -1));
});
