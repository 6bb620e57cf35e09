import { expect, test } from "vitest";
import { EpochMetrics } from "../../../../../webapp/static/src/client/units/epoch-metrics";
import type {
  LoadedWorker,
  TrainingResult,
} from "../../../../../webapp/static/src/client/workers/training-worker";

const LOADED = { metrics: [{ name: "accuracy", kind: "ratio" }] } as unknown as LoadedWorker;

function trained(examples: number, right: number, loss: number): TrainingResult {
  const vectors = { update: new ArrayBuffer(4), local: new ArrayBuffer(4), change: null };
  const sums = [[right, examples]] as const;
  return {
    type: "trained",
    id: 1,
    ...vectors,
    examples,
    steps: 2,
    planned: 2,
    loss,
    sums,
    stepMs: 1,
    checkpoints: [],
  };
}

test("The units of an epoch are learned from together, and the next epoch begins anew", () => {
  const learning = new EpochMetrics();
  expect(learning.add(1, trained(10, 5, 1), LOADED)).toEqual({
    version: 1,
    steps: 2,
    examples: 10,
    loss: 1,
    accuracy: 0.5,
  });
  const both = learning.add(1, trained(30, 29, 0.6), LOADED);
  expect(both).toMatchObject({ version: 1, steps: 4, examples: 40, accuracy: 0.85 });
  expect(both.loss).toBeCloseTo(0.7, 12);
  expect(learning.add(2, trained(10, 9, 0.2), LOADED)).toMatchObject({
    version: 2,
    examples: 10,
    accuracy: 0.9,
  });
});
