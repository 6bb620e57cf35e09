import "@tensorflow/tfjs-backend-cpu";
import { scalar, setBackend, type Tensor, tensor1d } from "@tensorflow/tfjs-core";
import { beforeAll, describe, expect, it } from "vitest";
import type { Bundle } from "../../../../../webapp/static/src/core/data/bundle";
import type { Graph, Tensors } from "../../../../../webapp/static/src/engine/graph";
import { gradientInSlices, slicesOf } from "../../../../../webapp/static/src/workers/training/gradient";

const bundle = {
  batch_size: 4,
  inputs: [{ name: "x", shape: [2], dtype: "float32" }],
  labels: [{ name: "y", shape: [], dtype: "int32" }],
  random: [
    { name: "random_0", shape: [4, 3], kind: "uniform" },
    { name: "random_1", shape: [3], kind: "uniform" },
  ],
} as unknown as Bundle;

const counting = (length: number) => Float32Array.from({ length }, (_, i) => i);
const batch = (sampleWeight: number[]) => ({
  x: [counting(8)],
  y: [Int32Array.of(5, 6, 7, 8)],
  random: [counting(12), counting(3)],
  sampleWeight: Float32Array.from(sampleWeight),
  examples: sampleWeight.filter((weight) => weight > 0).length,
});

describe("slices of a batch", () => {
  it("share out rows, labels, weights and the random numbers of the rows", () => {
    const [first, second] = slicesOf(bundle, batch([1, 1, 0.5, 1]), 2);
    expect(Array.from(first.x[0] ?? [])).toEqual([0, 1, 2, 3]);
    expect(Array.from(second?.x[0] ?? [])).toEqual([4, 5, 6, 7]);
    expect(Array.from(second?.y[0] ?? [])).toEqual([7, 8]);
    expect(Array.from(second?.sampleWeight ?? [])).toEqual([0.5, 1]);
    expect(Array.from(second?.random[0] ?? [])).toEqual([6, 7, 8, 9, 10, 11]);
  });

  it("all see the random numbers that belong to no row", () => {
    for (const slice of slicesOf(bundle, batch([1, 1, 1, 1]), 1)) {
      expect(Array.from(slice.random[1] ?? [])).toEqual([0, 1, 2]);
    }
  });

  it("of padding alone are left out", () => {
    const slices = slicesOf(bundle, batch([1, 1, 1, 0]), 1);
    expect(slices.map(({ examples }) => examples)).toEqual([1, 1, 1]);
  });

  it("leave one where there is no example at all", () => {
    expect(slicesOf(bundle, batch([0, 0, 0, 0]), 2)).toHaveLength(1);
  });
});

describe("a step in slices", () => {
  beforeAll(async () => {
    await setBackend("cpu");
  });

  it("adds up gradients by shares, and the squares of tables by squares of shares", () => {
    const run = (inputs: Tensors): Tensors => {
      const [weight] = (inputs.sample_weight as Tensor).dataSync();
      return {
        loss: scalar(weight as number),
        gradient: tensor1d([weight as number]),
        row_squares: tensor1d([4]),
      };
    };
    const train = { run } as unknown as Graph;
    const sliced = { ...bundle, slice: { batch_size: 2 } } as Bundle;
    const { gradient, rowSquares } = gradientInSlices(
      sliced,
      train,
      tensor1d([0]),
      undefined,
      batch([1, 1, 3, 0]),
    );
    expect(gradient.dataSync()[0]).toBeCloseTo((2 / 3) * 1 + (1 / 3) * 3, 6);
    expect(rowSquares?.dataSync()[0]).toBeCloseTo((4 / 9) * 4 + (1 / 9) * 4, 6);
  });
});
