import { describe, expect, it } from "vitest";
import { protect } from "../../../../../webapp/static/src/workers/training/protection";

function deviation(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
}

describe("a protected update", () => {
  it("has the clip's norm when it was longer, and its own when it was not", () => {
    const long = Float32Array.of(3, 4);
    protect(long, { clip: 1, noise: 0 });
    expect(long[0]).toBeCloseTo(0.6, 6);
    expect(long[1]).toBeCloseTo(0.8, 6);
    const short = Float32Array.of(0.3, 0.4);
    protect(short, { clip: 1, noise: 0 });
    expect(Array.from(short)).toEqual([Math.fround(0.3), Math.fround(0.4)]);
  });

  it("gets noise of noise times clip on each value", () => {
    const update = new Float32Array(400_001);
    protect(update, { clip: 2, noise: 1.5 });
    expect(deviation(update) / 3).toBeGreaterThan(0.99);
    expect(deviation(update) / 3).toBeLessThan(1.01);
  });
});
