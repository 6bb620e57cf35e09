import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

import {
  cos,
  exp,
  expm1,
  log,
  log1p,
  logistic,
  pow,
  sin,
  tanh,
} from "../../../../../webapp/static/src/core/numerics/elementary";

const FUNCTIONS = { exp, expm1, log, log1p, tanh, sin, cos };
const ENGINE = join(import.meta.dirname, "../../../../../webapp/static/src/engine");

/** Returns numbers of all sizes up to `most`, of both signs. */
function spread(most: number): number[] {
  const sizes: number[] = [];
  for (let size = most; size > 1e-12; size *= 0.983) sizes.push(size);
  return sizes.flatMap((size) => [size, -size]);
}

function relative(ours: number, theirs: number): number {
  return ours === theirs ? 0 : Math.abs(ours - theirs) / Math.abs(theirs);
}

function largest(errors: readonly number[]): number {
  return errors.reduce((most, error) => (error <= most ? most : error), 0);
}

describe("elementary functions", () => {
  it.each([
    ["exp", 700],
    ["expm1", 700],
    ["tanh", 30],
    ["log1p", 0.999],
  ] as const)("gives %s within 1e-14", (name, most) => {
    const ours = FUNCTIONS[name];
    expect(largest(spread(most).map((x) => relative(ours(x), Math[name](x))))).toBeLessThan(1e-14);
  });

  it("gives logarithms within 1e-14", () => {
    const numbers = spread(1e300).flatMap((x) => (x > 0 ? [x, 1 / x, 1 + x] : []));
    expect(largest(numbers.map((x) => relative(log(x), Math.log(x))))).toBeLessThan(1e-14);
    expect(log(5e-324)).toBeCloseTo(Math.log(5e-324), 12);
  });

  it("gives the logistic function within 1e-14", () => {
    const errors = spread(700).map((x) => relative(logistic(x), 1 / (1 + Math.exp(-x))));
    expect(largest(errors)).toBeLessThan(1e-14);
  });

  it.each(["sin", "cos"] as const)("gives %s within 1e-14", (name) => {
    const errors = spread(1e7).map((x) => Math.abs(FUNCTIONS[name](x) - Math[name](x)));
    expect(largest(errors)).toBeLessThan(1e-14);
  });

  it("gives powers within 2^-51 times the result's logarithm", () => {
    const errors = spread(40).flatMap((x) =>
      [-70.5, -64, -3, -0.5, 0.3, 0.5, 1, 2, 17, 64, 65, 100.25].map((y) => {
        const theirs = Math.abs(x) ** y;
        const ours = pow(Math.abs(x), y);
        if (!(theirs > 1e-300 && theirs < 1e300)) return 0;
        return relative(ours, theirs) / Math.max(20, Math.abs(Math.log(theirs)));
      }),
    );
    expect(largest(errors)).toBeLessThan(2 ** -51);
  });

  it.each(["exp", "expm1", "log", "log1p", "tanh", "sin", "cos"] as const)(
    "gives %s of special numbers as Math does",
    (name) => {
      for (const x of [0, -0, 1, -1, Infinity, -Infinity, NaN, 709.9, -750, 800, 5e-324]) {
        const [ours, theirs] = [FUNCTIONS[name](x), Math[name](x)];
        if (relative(ours, theirs) > 1e-14 || ours === 0 || !Number.isFinite(ours)) {
          expect([x, ours]).toEqual([x, theirs]);
        }
      }
    },
  );

  it("gives powers of special numbers as TensorFlow does", () => {
    const numbers = [0, -0, 0.5, -0.5, 1, -1, 2, -2, Infinity, -Infinity, NaN];
    for (const x of numbers) {
      for (const y of [...numbers, 3, -3, 65, -65]) {
        // C's pow, unlike that of ECMAScript, gives 1 for the base 1 and for -1 to an infinite power.
        const isOne = x === 1 || (x === -1 && Math.abs(y) === Infinity);
        const [ours, theirs] = [pow(x, y), isOne ? 1 : x ** y];
        if (!(relative(ours, theirs) < 1e-14)) expect([x, y, ours]).toEqual([x, y, theirs]);
        expect([x, y, Object.is(ours, -0)]).toEqual([x, y, Object.is(theirs, -0)]);
      }
    }
  });

  it("gives Adam's corrections of 20,000 steps", () => {
    const differing = [0.9, 0.99, 0.999, 0.9999].flatMap((beta) =>
      Array.from({ length: 20_000 }, (_, step) => [pow(beta, step + 1), beta ** (step + 1)]).filter(
        ([ours = 0, theirs = 0]) => Math.fround(1 - ours) !== Math.fround(1 - theirs),
      ),
    );
    expect(differing).toEqual([]);
  });

  it("is what the engine uses, where an engine would choose the last bit", () => {
    const functions = /Math\.(exp|expm1|log\w*|pow|sinh?|cosh?|tanh?|a(sin|cos|tan)h?|atan2|cbrt|hypot)\b/;
    const files = readdirSync(ENGINE, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".ts"),
    );
    expect(files.length).toBeGreaterThan(20);
    expect(files.filter((name) => functions.test(readFileSync(join(ENGINE, name), "utf8")))).toEqual([]);
  });
});
