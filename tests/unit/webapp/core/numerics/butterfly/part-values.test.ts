import { expect, test } from "vitest";
import {
  meanOfPart,
  partNumbers,
  partValues,
} from "../../../../../../webapp/static/src/core/numerics/butterfly/part-values";

const bytesOf = (...values: number[]) => new Uint8Array(Float32Array.from(values).buffer);

test("bytes of a part are little-endian float32", () => {
  expect([...partValues(bytesOf(1, -2.5), 2)]).toEqual([1, -2.5]);
});

test("bytes of another length, or with NaN or infinity, count as zeros", () => {
  for (const wrong of [
    bytesOf(1),
    bytesOf(1, 2, 3),
    bytesOf(Number.NaN, 1),
    bytesOf(1, Number.POSITIVE_INFINITY),
  ])
    expect([...partValues(wrong, 2)]).toEqual([0, 0]);
  expect([...partValues(bytesOf(1, 2).subarray(1), 2)]).toEqual([0, 0]);
});

test("without a radius the median distance is it, and 1 where all pieces are the same", () => {
  const same = [partValues(bytesOf(3, 4), 2), partValues(bytesOf(3, 4), 2)];
  expect([...meanOfPart(same, 0)]).toEqual([3, 4]);
  const far = [0, 1, 2, 1000].map((value) => partValues(bytesOf(value), 1));
  expect(Math.abs(meanOfPart(far, 0)[0] as number)).toBeLessThan(4);
});

test("without a radius a product is of the difference up to length 1", () => {
  const mean = new Float32Array(2);
  const numbersOf = (...values: number[]) => partNumbers([partValues(bytesOf(...values), 2)], mean, 0, 5, 1);
  const far = numbersOf(30, 40);
  expect(far.lengths).toEqual([50]);
  expect(far.products[0]).toBeCloseTo(numbersOf(0.6, 0.8).products[0] as number, 6);
});
