import fc from "fast-check";
import { expect, test } from "vitest";
import { chancesOf, softmax } from "../../../../../webapp/static/src/core/numerics/probabilities";
import { draw } from "../../../../../webapp/static/src/core/numerics/sampling";

const logits = fc.array(fc.float({ min: -1000, max: 1000, noNaN: true }), { minLength: 2, maxLength: 20 });
const uniform = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test("whatever a model puts out becomes chances that add up to 1", () => {
  fc.assert(
    fc.property(logits, (output) => {
      const chances = chancesOf(output, true);
      expect(chances).toHaveLength(output.length);
      expect(chances.every((chance) => chance >= 0 && chance <= 1)).toBe(true);
      expect(chances.reduce((sum, chance) => sum + chance, 0)).toBeCloseTo(1, 9);
    }),
  );
});

test("chances stay what they are, and a single one is that of the second of two answers", () => {
  expect(chancesOf([0.25, 0.75], false)).toEqual([0.25, 0.75]);
  expect(chancesOf([0.25], false)).toEqual([0.75, 0.25]);
  expect(chancesOf([0], true)).toEqual([0.5, 0.5]);
  expect(chancesOf([Math.log(3)], true)[1]).toBeCloseTo(0.75, 12);
});

test("what lies outside of 0 to 1 is taken for logits even where nobody said so", () => {
  expect(chancesOf([-2, 3, 0.5], false)).toEqual(softmax([-2, 3, 0.5]));
});

test("without boldness the likeliest is taken, and never what is kept out", () => {
  expect(draw([0.6, 0.1, 0.3], { temperature: 0, uniform: 0.99 })).toBe(0);
  expect(draw([0.6, 0.1, 0.3], { temperature: 0, uniform: 0, first: 1 })).toBe(2);
});

test("at a temperature of 1 each is drawn as often as the model says", () => {
  const chances = [0.5, 0.2, 0.3];
  const draws = Array.from({ length: 1000 }, (_, i) =>
    draw(chances, { temperature: 1, uniform: (i + 0.5) / 1000 }),
  );
  expect(chances.map((_, i) => draws.filter((drawn) => drawn === i).length)).toEqual([500, 200, 300]);
});

test("a low temperature draws the likeliest more often, a high one less often", () => {
  const often = (temperature: number) =>
    Array.from({ length: 100 }, (_, i) => draw([0.6, 0.4], { temperature, uniform: (i + 0.5) / 100 })).filter(
      (drawn) => drawn === 0,
    ).length;
  expect(often(0.2)).toBeGreaterThan(often(1));
  expect(often(1)).toBeGreaterThan(often(5));
});

test("nothing of no chance is ever drawn", () => {
  fc.assert(
    fc.property(uniform, fc.double({ min: 0.05, max: 3, noNaN: true }), (uniform, temperature) => {
      expect([1, 3]).toContain(draw([0, 0.5, 0, 0.5, 0], { temperature, uniform }));
    }),
  );
});
