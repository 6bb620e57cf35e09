import { describe, expect, it } from "vitest";
import type { TrainingPlan } from "../../../../../../webapp/static/src/core/messages/training";
import type { TrainingStep } from "../../../../../../webapp/static/src/workers/training/step";
import { tracerOf } from "../../../../../../webapp/static/src/workers/training/tracing/tracer-of";

const PLAN = { privacy: null, control: null, proximalMu: 0 } as unknown as TrainingPlan;
const REQUEST = { states: [1], ops: [], inputs: null };
const STEP = {
  get traceable() {
    throw new Error("whole batches");
  },
} as unknown as TrainingStep;

describe("a trace", () => {
  it("is refused where gradients are changed after they were computed", async () => {
    const changes = [{ proximalMu: 0.1 }, { privacy: { clip: 1, noise: 0, microbatch: 1 } }, { control: {} }];
    for (const change of changes) {
      const plan = { ...PLAN, ...change } as TrainingPlan;
      await expect(tracerOf(STEP, plan, REQUEST)).rejects.toThrow("is not traced");
    }
  });

  it("is refused by a step that has no whole graphs", async () => {
    await expect(tracerOf(STEP, PLAN, REQUEST)).rejects.toThrow("whole batches");
  });
});
