import { describe, expect, test } from "vitest";
import { cut } from "../../../../../webapp/static/src/core/numerics/butterfly/parts";
import { performPartJob } from "../../../../../webapp/static/src/workers/averaging/part-jobs";

const BASE = Float32Array.of(10, 20, 30, 40, 50);

function bytesOf(values: Float32Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(values.buffer);
}

describe("The outer step", () => {
  test("moves each value by the mean of its place", () => {
    const answer = performPartJob({
      type: "take_step",
      id: 1,
      outer: { kind: "fedavg", learning_rate: 1, momentum: 0 },
      base: bytesOf(BASE),
      slots: new Uint8Array(),
      trainable: 4,
      means: cut(Float32Array.of(1, 2, 3, 4, 5), 2),
      sizes: [3, 2],
    });
    const weights = bytesOf(Float32Array.of(11, 22, 33, 44, 55));
    expect(answer).toEqual({ type: "step_taken", weights, slots: new Uint8Array() });
  });
});

describe("A comparison of works", () => {
  const made = cut(BASE, 2);
  const found = (shown: typeof made, tolerance: { distance: number; cosine: number; blame: number } | null) =>
    performPartJob({ type: "compare", id: 1, made, shown, tolerance });

  test("tells bits apart", () => {
    const moved = cut(Float32Array.of(10, 20, 30, 40, 50.001), 2);
    expect(found(made, null)).toEqual({ type: "compared", found: "same" });
    expect(found(moved, null)).toEqual({ type: "compared", found: "other" });
    expect(found(moved, { distance: 0.01, cosine: 0.99, blame: 0.1 })).toEqual({
      type: "compared",
      found: "same",
    });
  });

  test("takes a piece of another size for zeros", () => {
    const short = [made[0] as Uint8Array<ArrayBuffer>, new Uint8Array(4)];
    expect(found(short, null)).toEqual({ type: "compared", found: "other" });
  });
});
