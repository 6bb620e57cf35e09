import { describe, expect, it } from "vitest";
import type { Bundle } from "../../../webapp/static/src/shared/bundle";
import { joinColumns, makeBatch, preprocess } from "../../../webapp/static/src/shared/preprocess";

const bundle = {
  batch_size: 3,
  input: { shape: [2], dtype: "float32" },
  label: { shape: [], dtype: "int32" },
  preprocess: { scale: 0.1 },
} as unknown as Bundle;

describe("preprocess", () => {
  it("multiplies in float32, as TensorFlow does", () => {
    const [value] = preprocess(Uint8Array.of(3), { scale: 0.1 }, "float32");
    expect(value).toBe(Math.fround(3 * Math.fround(0.1)));
  });

  it("leaves token ids alone", () => {
    expect(preprocess(Uint8Array.of(3, 4), {}, "int32")).toEqual(Int32Array.of(3, 4));
  });
});

describe("joinColumns", () => {
  const first = { shape: [2, 2], values: Uint8Array.of(1, 2, 3, 4) };

  it("numbers the examples in the order of the shards", () => {
    const joined = joinColumns("x", [first, { shape: [1, 2], values: Uint8Array.of(5, 6) }], [2]);
    expect(Array.from(joined.values)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("refuses examples of another shape", () => {
    expect(() => joinColumns("x", [first], [3])).toThrow(/the model takes \[3\]/);
  });

  it("refuses shards of different dtypes", () => {
    expect(() => joinColumns("x", [first, { shape: [1, 2], values: Int32Array.of(5, 6) }], [2])).toThrow(
      /dtypes/,
    );
  });

  it("refuses a plan without shards", () => {
    expect(() => joinColumns("x", [], [2])).toThrow(/no data shard/);
  });
});

describe("makeBatch", () => {
  it("picks the rows and pads with zeros of weight 0", () => {
    const x = { values: Uint8Array.of(10, 20, 30, 40, 50, 60), width: 2 };
    const y = { values: Int32Array.of(7, 8, 9), width: 1 };
    const batch = makeBatch(bundle, x, y, Uint32Array.of(2, 0));
    expect(Array.from(batch.x)).toEqual([5, 6, 1, 2, 0, 0].map((value) => Math.fround(value)));
    expect(batch.y).toEqual(Int32Array.of(9, 7, 0));
    expect(batch.sampleWeight).toEqual(Float32Array.of(1, 1, 0));
    expect(batch.examples).toBe(2);
  });
});
