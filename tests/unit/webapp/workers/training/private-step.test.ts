import { describe, expect, it } from "vitest";
import { boundOf, microbatches } from "../../../../../webapp/static/src/workers/training/private-step";

const batch = (weights: number[]) => ({
  x: [],
  y: [],
  random: [],
  sampleWeight: Float32Array.from(weights),
  examples: weights.filter((weight) => weight > 0).length,
});

describe("microbatches", () => {
  it("are neighbours in the batch, each with all others at weight 0", () => {
    const parts = microbatches(batch([1, 0.5, 1, 1, 1]), 2);
    expect(parts.map(({ sampleWeight }) => Array.from(sampleWeight))).toEqual([
      [1, 0.5, 0, 0, 0],
      [0, 0, 1, 1, 0],
      [0, 0, 0, 0, 1],
    ]);
    expect(parts.map(({ examples }) => examples)).toEqual([2, 2, 1]);
  });

  it("without an example are left out", () => {
    expect(microbatches(batch([1, 0, 0, 0]), 1)).toHaveLength(1);
  });

  it("count by the plan's rows where a sum is divided", () => {
    const clip = { clip: 1, noise: 1, microbatch: 3 };
    expect(boundOf(clip, 32).microbatches).toBe(11);
  });
});
