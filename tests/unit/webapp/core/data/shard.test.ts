import { encode } from "@msgpack/msgpack";
import { describe, expect, it } from "vitest";
import type { Bundle } from "../../../../../webapp/static/src/core/data/bundle";
import { decodeShard, exampleValues, largestShard } from "../../../../../webapp/static/src/core/data/shard";
import golden from "../../../../contract/vectors/shard.json";

const x = { dtype: "uint8", shape: [2, 3], data: Uint8Array.of(1, 2, 3, 4, 5, 255) };
const y = { dtype: "int32", shape: [2], data: new Uint8Array(Int32Array.of(7, -1).buffer) };
const good = { format: "minga-shard/2", examples: 2, x: [x], y: [y] };

const floats = (...values: number[]) => ({
  dtype: "float32",
  shape: [values.length],
  data: new Uint8Array(Float32Array.from(values).buffer),
});

describe("a data shard", () => {
  it("gives its arrays back", () => {
    const shard = decodeShard(encode(good));
    expect(shard.examples).toBe(2);
    expect(shard.x[0]?.values).toEqual(Uint8Array.of(1, 2, 3, 4, 5, 255));
    expect(shard.y[0]?.values).toEqual(Int32Array.of(7, -1));
  });

  it("is never longer than the largest", () => {
    const weighted = encode({ ...good, sample_weight: floats(0.5, 0) });
    const spec = { name: "x", dtype: "float32" } as const;
    const values = exampleValues({
      inputs: [{ ...spec, shape: [3] }],
      labels: [{ ...spec, shape: [], classes: null }],
    } as unknown as Bundle);
    expect(values).toBe(4);
    expect(largestShard(2, values)).toBe(4 * 5 * 2 + 65536);
    expect(weighted.length).toBeLessThan(largestShard(2, values));
  });

  it("is read as a server cuts it", () => {
    const shard = decodeShard(Uint8Array.from(Buffer.from(golden.shard, "base64")));
    expect(Array.from(shard.x[0]?.values ?? [])).toEqual(golden.x);
    expect(Array.from(shard.y[0]?.values ?? [])).toEqual(golden.y);
    expect(Array.from(shard.sampleWeight)).toEqual(golden.sample_weight);
  });

  it("weighs every example 1 unless it says otherwise", () => {
    expect(decodeShard(encode(good)).sampleWeight).toEqual(Float32Array.of(1, 1));
    const weighted = decodeShard(encode({ ...good, sample_weight: floats(0.5, 0) }));
    expect(weighted.sampleWeight).toEqual(Float32Array.of(0.5, 0));
  });

  it.each([
    ["another format", { ...good, format: "other" }],
    ["a missing count", { ...good, examples: undefined }],
    ["a negative count", { ...good, examples: -1 }],
    ["another count than the arrays'", { ...good, examples: 3 }],
    ["an unknown dtype", { ...good, x: [{ ...x, dtype: "float64" }] }],
    ["too few bytes", { ...good, x: [{ ...x, data: x.data.slice(1) }] }],
    ["a shape that is no shape", { ...good, x: [{ ...x, shape: [2, -3] }] }],
    ["text as data", { ...good, y: [{ ...y, data: "12345678" }] }],
    ["an array where a list of them belongs", { ...good, x }],
    ["a negative weight", { ...good, sample_weight: floats(1, -1) }],
    ["a weight that is no number", { ...good, sample_weight: floats(Number.NaN, 1) }],
    ["a weight too few", { ...good, sample_weight: floats(1) }],
    ["no map", [1, 2, 3]],
  ])("is refused with %s", (_, content) => {
    expect(() => decodeShard(encode(content))).toThrow(/data shard is damaged/);
  });

  it("is refused when it is not msgpack", () => {
    expect(() => decodeShard(Uint8Array.of(0xc1))).toThrow(/not msgpack/);
  });
});
