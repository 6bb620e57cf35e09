import { describe, expect, it } from "vitest";
import { Skellam } from "../../../../../../webapp/static/src/core/numerics/privacy/skellam";
import golden from "../../../../../contract/vectors/skellam.json";

describe("Skellam noise", () => {
  it.each(golden)("of variance $variance is Python's for the same words, at thresholds too", (one) => {
    const sampler = new Skellam(one.variance);
    expect(sampler.high.length).toBe(one.entries);
    expect(Array.from(sampler.draw(Uint32Array.from(one.words)))).toEqual(one.values);
  });

  it("refuses a variance without a table", () => {
    expect(() => new Skellam(0)).toThrow("at most 2^30");
    expect(() => new Skellam(2 ** 31)).toThrow("at most 2^30");
  });
});
