import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { philoxWords, uniform } from "../../../../../webapp/static/src/core/numerics/philox";
import golden from "../../../../contract/vectors/philox.json";

describe("philox", () => {
  it.each(golden)(
    "draws what Python and TensorFlow draw for seed $seed, step $step, stream $stream",
    (draw) => {
      const { seed, step, stream, values } = draw;
      expect(Array.from(uniform(seed, step, stream, values.length))).toEqual(values);
    },
  );

  it("starts every longer draw with the shorter one", () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat({ max: 20 }), fc.nat({ max: 20 }), (seed, step, short, more) => {
        const long = philoxWords(seed, step, 0, short + more);
        expect(philoxWords(seed, step, 0, short)).toEqual(long.subarray(0, short));
      }),
    );
  });

  it("stays in [0, 1) and is evenly spread", () => {
    const values = uniform(3, 1, 0, 10_000);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...values)).toBeLessThan(1);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.02);
  });
});
