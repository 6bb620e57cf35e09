import { describe, expect, it } from "vitest";
import { localMetrics } from "../../../../../webapp/static/src/client/session/local-metrics";

const trained = {
  steps: 3,
  examples: 12,
  loss: 0.5,
  sums: [
    [2, 4],
    [9, 12],
  ] as const,
};

describe("what this device learned in a round", () => {
  it("belongs to the version that the round makes", () => {
    const metrics = [
      { name: "mae", kind: "ratio" },
      { name: "accuracy", kind: "ratio" },
    ] as const;
    expect(localMetrics(7, trained, { metrics })).toEqual({
      version: 8,
      steps: 3,
      examples: 12,
      loss: 0.5,
      accuracy: 0.75,
    });
  });

  it("has no accuracy where the task has none", () => {
    expect(localMetrics(0, trained, { metrics: [{ name: "mae", kind: "ratio" }] }).accuracy).toBeNull();
  });
});
