import { describe, expect, it } from "vitest";
import type { Bundle } from "../../../../../webapp/static/src/core/data/bundle";
import { joinShards, load, makeBatch, pickRows } from "../../../../../webapp/static/src/core/data/examples";
import type { Shard } from "../../../../../webapp/static/src/core/data/shard";
import { type Golden, vectors } from "../preprocessing/vectors";

const bundle = {
  batch_size: 3,
  inputs: [{ name: "pixels", shape: [2], dtype: "float32" }],
  labels: [{ name: "class", shape: [], dtype: "int32", classes: 9 }],
  preprocess: { scale: 0.1 },
} as unknown as Bundle;

interface Loading {
  readonly preprocess: Bundle["preprocess"];
  readonly stored: Golden;
  readonly values: readonly number[];
}

describe("load", () => {
  it.each(vectors<Loading>("loading"))("gives the very values that Python gives: $preprocess", (one) => {
    const { preprocess, stored, values } = one;
    const array = { uint8: Uint8Array, int32: Int32Array, float32: Float32Array }[stored.dtype];
    expect(Array.from(load(array.from(stored.values), preprocess, "float32"))).toEqual(values);
  });

  it("leaves token ids alone", () => {
    expect(load(Uint8Array.of(3, 4), { scale: 2 }, "int32")).toEqual(Int32Array.of(3, 4));
  });
});

describe("pickRows", () => {
  it("takes the examples in the order they are named, one twice if it is named twice", () => {
    const examples = {
      count: 3,
      x: [{ values: Uint8Array.of(10, 11, 20, 21, 30, 31), width: 2 }],
      y: [{ values: Int32Array.of(1, 2, 3), width: 1 }],
      sampleWeight: Float32Array.of(1, 0, 2),
    };
    expect(pickRows(examples, Uint32Array.of(2, 0, 2))).toEqual({
      count: 3,
      x: [{ values: Uint8Array.of(30, 31, 10, 11, 30, 31), width: 2 }],
      y: [{ values: Int32Array.of(3, 1, 3), width: 1 }],
      sampleWeight: Float32Array.of(2, 1, 2),
    });
  });
});

describe("joinShards", () => {
  const shard = (pixels: number[], classes: number[], sampleWeight?: number[]): Shard => ({
    examples: classes.length,
    x: [{ shape: [classes.length, 2], values: Uint8Array.from(pixels) }],
    y: [{ shape: [classes.length], values: Int32Array.from(classes) }],
    sampleWeight: Float32Array.from(sampleWeight ?? classes.map(() => 1)),
  });
  const first = shard([1, 2, 3, 4], [0, 1]);

  it("numbers the examples in the order of the shards", () => {
    const joined = joinShards(bundle, [first, shard([5, 6], [8], [0.5])]);
    expect(joined.count).toBe(3);
    expect(Array.from(joined.x[0]?.values ?? [])).toEqual([1, 2, 3, 4, 5, 6]);
    expect(Array.from(joined.y[0]?.values ?? [])).toEqual([0, 1, 8]);
    expect(joined.sampleWeight).toEqual(Float32Array.of(1, 1, 0.5));
  });

  it("refuses examples of another shape", () => {
    const wide = { ...bundle, inputs: [{ name: "pixels", shape: [3], dtype: "float32" }] } as Bundle;
    expect(() => joinShards(wide, [first])).toThrow(/pixels has shape \[2\], the model takes \[3\]/);
  });

  it("refuses shards of different dtypes", () => {
    const odd = { ...first, x: [{ shape: [2, 2], values: Int32Array.of(1, 2, 3, 4) }] };
    expect(() => joinShards(bundle, [first, odd])).toThrow(/dtypes/);
  });

  it("refuses a shard that lacks an input", () => {
    expect(() => joinShards(bundle, [{ ...first, x: [] }])).toThrow(/1 arrays x/);
  });

  it("refuses classes that the model does not know", () => {
    expect(() => joinShards(bundle, [shard([1, 2], [9])])).toThrow(/class 9; the model knows 0 to 8/);
    expect(() => joinShards(bundle, [shard([1, 2], [-1])])).toThrow(/class -1/);
  });

  it("refuses a plan without shards", () => {
    expect(() => joinShards(bundle, [])).toThrow(/no data shard/);
  });
});

describe("makeBatch", () => {
  const examples = {
    count: 3,
    x: [{ values: Uint8Array.of(10, 20, 30, 40, 50, 60), width: 2 }],
    y: [{ values: Int32Array.of(7, 8, 6), width: 1 }],
    sampleWeight: Float32Array.of(0, 1, 2),
  };

  it("picks the rows and fills up with the first of them at weight 0", () => {
    const batch = makeBatch(bundle, examples, Uint32Array.of(2, 1));
    expect(Array.from(batch.x[0] ?? [])).toEqual([5, 6, 3, 4, 5, 6].map((value) => Math.fround(value)));
    expect(batch.y[0]).toEqual(Int32Array.of(6, 8, 6));
    expect(batch.sampleWeight).toEqual(Float32Array.of(2, 1, 0));
    expect(batch.examples).toBe(2);
  });

  it("does not count examples of weight 0", () => {
    expect(makeBatch(bundle, examples, Uint32Array.of(0, 1)).examples).toBe(1);
  });
});
