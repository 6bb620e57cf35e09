import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { outerStep, sum } from "../../../../../../webapp/static/src/core/numerics/aggregation/outer-step";
import type { Outer } from "../../../../../../webapp/static/src/protocol/wire/mesh";

interface Golden {
  readonly outer: Outer;
  readonly trainable: number;
  readonly steps: readonly {
    readonly change: readonly number[];
    readonly way: readonly number[];
    readonly memory: readonly number[];
  }[];
}

const golden = JSON.parse(readFileSync("tests/contract/vectors/outer.json", "utf8")) as readonly Golden[];

describe.each(golden)("The outer step $outer.kind", ({ outer, trainable, steps }) => {
  test("goes Python's way to the bit, and remembers what it remembers", () => {
    let memory: Float32Array = new Float32Array();
    for (const { change, way, memory: after } of steps) {
      const stepped = outerStep(outer, Float32Array.from(change), trainable, memory);
      memory = stepped.memory;
      expect(stepped.way).toEqual(Float32Array.from(way));
      expect(memory).toEqual(Float32Array.from(after));
    }
  });

  test("lets statistics go as they are", () => {
    const change = Float32Array.from({ length: 5 }, (_, i) => i + 0.5);
    const { way } = outerStep({ ...outer, learning_rate: 0.1 }, change, 3, new Float32Array());
    expect([...way.subarray(3)]).toEqual([3.5, 4.5]);
  });
});

test("sums are rounded to float32", () => {
  const [a, b] = [Float32Array.of(1, 16777216), Float32Array.of(2, 1)];
  expect([...sum(a, b)]).toEqual([3, 16777216]);
});
