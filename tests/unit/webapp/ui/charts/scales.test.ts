import { expect, test } from "vitest";
import { linearTicks, logBounds, logTicks } from "../../../../../webapp/static/src/ui/charts/scales";

test("decades are ticks where there are several of them", () => {
  expect(logTicks(0.0007, 40, 6)).toEqual([0.001, 0.01, 0.1, 1, 10]);
});

test("fewer decades have ticks between them", () => {
  expect(logTicks(0.09, 2.5, 6)).toEqual([0.1, 0.2, 0.5, 1, 2]);
  expect(logTicks(1, 10, 10)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("a part of a decade has the ticks of a linear scale", () => {
  expect(logTicks(0.31, 0.36, 5)).toEqual([0.31, 0.32, 0.33, 0.34, 0.35, 0.36]);
});

test("many decades are thinned, and there are never more ticks than asked for", () => {
  expect(logTicks(1e-12, 1, 5)).toEqual([1e-12, 1e-9, 1e-6, 0.001, 1]);
});

test("a scale without positive values has no ticks", () => {
  expect(logTicks(0, 1, 5)).toEqual([]);
  expect(logTicks(2, 2, 5)).toEqual([]);
});

test("the bounds leave some room, and are above zero", () => {
  const [least, most] = logBounds(0.01, 1);
  expect(least).toBeCloseTo(10 ** -2.1, 10);
  expect(most).toBeCloseTo(10 ** 0.1, 10);
  expect(logBounds(3, 3)).toEqual([1.5, 6]);
  expect(logBounds(0, 5)).toEqual([0.1, 1]);
});

test("ticks of a linear scale are round", () => {
  expect(linearTicks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(linearTicks(5, 5, 5)).toEqual([]);
});
