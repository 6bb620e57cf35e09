import { describe, expect, test } from "vitest";
import { LocalState } from "../../../../../webapp/static/src/client/units/local-state";
import { unitPlan } from "../../../../../webapp/static/src/client/units/plan";
import { unitOf } from "./fixtures";

const local = (...values: number[]): ArrayBuffer => Float32Array.from(values).buffer;

describe("A client's own weights", () => {
  test("are those that it sent last", () => {
    const own = new LocalState();
    expect(own.newest).toBeNull();
    own.sent(1, local(1));
    own.sent(2, local(2));
    expect(own.newest).toEqual(local(2));
  });

  test("that were refused give way to those before them", () => {
    const own = new LocalState();
    own.sent(1, local(1));
    own.sent(2, local(2));
    own.refused(2);
    expect(own.newest).toEqual(local(1));
    own.refused(1);
    expect(own.newest).toBeNull();
  });

  test("are not gone back beyond what counted", () => {
    const own = new LocalState();
    own.sent(1, local(1));
    own.sent(2, local(2));
    own.counted(2);
    own.refused(2);
    expect(own.newest).toBeNull();
  });

  test("are as few as can be gone back to", () => {
    const own = new LocalState();
    for (const lease of [1, 2, 3]) own.sent(lease, local(lease));
    own.refused(3);
    own.refused(2);
    expect(own.newest).toBeNull();
  });
});

describe("A unit's plan", () => {
  test("is its rows of its shard, and takes as long as it takes", () => {
    const plan = unitPlan(unitOf(4), local(1), false);
    expect(plan).toMatchObject({
      shards: ["a".repeat(64)],
      batchSize: 8,
      learningRate: 0.1,
      seed: 7,
      until: null,
    });
    expect(plan.unit).toEqual({ checkpoints: false, lease: 4, rows: { first: 16, count: 32 }, start: null });
  });

  test.each([
    ["own", 0],
    ["elastic", 0.25],
  ] as const)("begins at %s weights where there are such", (start, elasticity) => {
    const unit = unitOf(4, { start, elasticity: 0.25 });
    expect(unitPlan(unit, local(1), true).unit?.start).toEqual({ own: local(1), elasticity });
    expect(unitPlan(unit, null, true).unit?.start).toBeNull();
  });
});
