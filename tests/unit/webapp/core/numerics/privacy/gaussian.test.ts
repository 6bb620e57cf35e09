import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { gaussian, wordsOf } from "../../../../../../webapp/static/src/core/numerics/privacy/gaussian";

const golden = JSON.parse(readFileSync("tests/contract/vectors/gaussian.json", "utf-8")) as {
  words: number[];
  values: number[];
};

describe("Gaussian noise", () => {
  it("makes the golden values of the golden words", () => {
    const values = gaussian(Uint32Array.from(golden.words));
    expect(values).toHaveLength(golden.values.length);
    values.forEach((value, i) => {
      expect(value).toBeCloseTo(golden.values[i] as number, 12);
    });
  });

  it("takes four words for two values", () => {
    expect([0, 1, 2, 7].map(wordsOf)).toEqual([0, 4, 4, 16]);
    expect(() => gaussian(new Uint32Array(6))).toThrow("four at a time");
  });

  it("has the moments of a standard normal over a million draws", () => {
    const words = new Uint32Array(2_000_000);
    for (let start = 0; start < words.length; start += 16_384)
      crypto.getRandomValues(words.subarray(start, start + 16_384));
    const values = gaussian(words);
    const mean = (power: number) => values.reduce((sum, value) => sum + value ** power, 0) / values.length;
    // Six standard errors: once in half a thousand million runs.
    expect(Math.abs(mean(1))).toBeLessThan(6e-3);
    expect(Math.abs(mean(2) - 1)).toBeLessThan(6e-3 * Math.SQRT2);
    expect(Math.abs(mean(4) - 3)).toBeLessThan(6e-3 * Math.sqrt(96));
  });
});
