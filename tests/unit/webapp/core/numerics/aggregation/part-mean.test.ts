import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  passOn,
  REDUCERS,
  type Reducer,
  reducePart,
  shares,
} from "../../../../../../webapp/static/src/core/numerics/aggregation/part-mean";
import {
  checked,
  decode,
  encode,
  encodedSize,
  type Precision,
  UnfitError,
} from "../../../../../../webapp/static/src/core/numerics/aggregation/precision";
import {
  centeredClip,
  trimmedMean,
} from "../../../../../../webapp/static/src/core/numerics/aggregation/robust-mean";
import { uniform } from "../../../../../../webapp/static/src/core/numerics/philox";

/** Bytes too many for the file: how many, the first ones, and their hash. */
interface Told {
  readonly bytes: number;
  readonly first: string;
  readonly sha256: string;
}
type Encoded = Readonly<Record<Precision, { readonly data: string; readonly decoded: string }>>;
interface Mean {
  readonly seed: number;
  readonly values: number;
  readonly most: number;
  readonly weights: readonly number[];
  readonly shares: readonly number[];
}
type Made = Readonly<Record<Reducer | "ring", Told>> & { readonly pieces: readonly Told[] };
interface Golden {
  readonly encoded: readonly (Encoded & { readonly values: string })[];
  readonly ties: { readonly encoded: Told; readonly decoded: Told };
  readonly means: readonly (Mean & Readonly<Record<Precision, Made>>)[];
}

const path = new URL("../../../../../contract/vectors/averaging.json", import.meta.url);
const golden = JSON.parse(readFileSync(path, "utf8")) as Golden;
const PRECISIONS = ["float32", "float16", "int8"] as const;

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));
const floats = (hex: string) => new Float32Array(bytes(hex).buffer);
const bytesOf = (values: Float32Array) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
const hexOf = (data: Uint8Array) => Buffer.from(data).toString("hex");

function told(data: Uint8Array): Told {
  const sha256 = createHash("sha256").update(data).digest("hex");
  return { bytes: data.length, first: hexOf(data.subarray(0, 64)), sha256 };
}

function drawn({ seed, values, most }: Mean, member: number): Float32Array {
  const scale = Math.fround(most);
  return uniform(seed, member, 0, values).map((value) => scale * (2 * value - 1));
}

/** The float32 after `value`, or before it: of the same sign. */
function beside(value: number, way: 1 | -1): number {
  const one = Float32Array.of(value);
  const bits = new Uint32Array(one.buffer);
  bits[0] = (bits[0] as number) + way;
  return one[0] as number;
}

/** All that are not negative, in the order of their bits. */
function halves(): Float32Array {
  const words = Uint16Array.from({ length: 0x7c00 }, (_, word) => word);
  return decode(new Uint8Array(words.buffer), words.length, "float16");
}

/** The middle between each two of them, and the floats around it. */
function ties(): Float32Array {
  const all = halves();
  const middles = Array.from({ length: 0x7bff }, (_, i) => ((all[i] as number) + (all[i + 1] as number)) / 2);
  return Float32Array.from(middles.flatMap((middle) => [beside(middle, -1), middle, beside(middle, 1)]));
}

describe.each(PRECISIONS)("Values in %s", (precision) => {
  test.each(golden.encoded)("become Python's bytes, and Python's values again", (one) => {
    const values = floats(one.values);
    const data = encode(values, precision);
    expect(hexOf(data)).toBe(one[precision].data);
    expect(data.length).toBe(encodedSize(values.length, precision));
    expect(hexOf(bytesOf(decode(data, values.length, precision)))).toBe(one[precision].decoded);
  });

  test("stay the same when they are told once more", () => {
    fc.assert(
      fc.property(fc.float32Array({ noNaN: true, noDefaultInfinity: true, maxLength: 50 }), (values) => {
        const once = decode(encode(values, precision), values.length, precision);
        const twice = decode(encode(once, precision), values.length, precision);
        // In int8 the largest value of a block is 127 steps, and so the scale is as it was, but for its last bit.
        if (precision !== "int8") expect(bytesOf(twice)).toEqual(bytesOf(once));
        const most = Math.max(0, ...once.map(Math.abs));
        twice.forEach((value, i) => {
          expect(Math.abs(value - (once[i] as number))).toBeLessThanOrEqual(most * 2 ** -20);
        });
      }),
    );
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])("are not %d", (value) => {
    expect(() => encode(Float32Array.of(1, value), precision)).toThrow(RangeError);
  });

  test("of another number are refused", () => {
    const data = encode(new Float32Array(10), precision);
    expect(() => checked(data, 11, precision)).toThrow(UnfitError);
    expect(() => checked(data.subarray(1), 10, precision)).toThrow(UnfitError);
  });

  test("are read from wherever they lie", () => {
    const values = Float32Array.of(0.5, -2, 1);
    const data = encode(values, precision);
    const moved = new Uint8Array(data.length + 1);
    moved.set(data, 1);
    expect(decode(moved.subarray(1), 3, precision)).toEqual(decode(data, 3, precision));
  });
});

test("every float16, and every tie between two, is Python's", () => {
  expect(told(bytesOf(halves()))).toEqual(golden.ties.decoded);
  expect(told(encode(ties(), "float16"))).toEqual(golden.ties.encoded);
});

test.each([
  ["float32", Float32Array.of(Number.NaN)],
  ["float32", Float32Array.of(2 ** 101)],
  ["float16", Uint16Array.of(0x7c00, 0)],
  ["float16", Uint16Array.of(0, 0xfe01)],
  ["int8", Float32Array.of(Number.NaN, 0)],
  ["int8", Float32Array.of(-1, 0)],
  ["int8", Float32Array.of(2 ** 94, 0)],
] as const)("bytes in %s that no member makes are refused", (precision, words) => {
  const data = new Uint8Array(words.buffer);
  const values = { float32: 1, float16: 2, int8: 4 }[precision];
  expect(() => checked(data, values, precision)).toThrow(/NaN, infinity/);
});

describe.each(golden.means)("The mean of $weights.length members' $values values", (one) => {
  test("has Python's shares", () => {
    expect([...shares(one.weights)]).toEqual(one.shares);
  });

  test.each(PRECISIONS)("has Python's bits in %s", (precision) => {
    const rows = one.weights.map((_, member) => drawn(one, member));
    const pieces = rows.map((row) => checked(encode(row, precision), one.values, precision));
    expect(pieces.map(told)).toEqual(one[precision].pieces);
    for (const reducer of REDUCERS) {
      const mean = reducePart(pieces, one.weights, { values: one.values, precision, reducer });
      expect(told(mean)).toEqual(one[precision][reducer]);
    }
  });

  test.each(PRECISIONS)("has Python's bits in %s after a way around a ring", (precision) => {
    const each = shares(one.weights);
    const travelled = one.weights.reduce<Uint8Array<ArrayBuffer> | null>(
      (before, _, member) => passOn(before, drawn(one, member), each[member] as number, precision),
      null,
    );
    expect(told(travelled ?? new Uint8Array())).toEqual(one[precision].ring);
  });
});

test.each([[[]], [[0, 0]], [[1, Number.NaN]], [[1, -1]], [[Number.POSITIVE_INFINITY]]])(
  "weights like %j make no mean",
  (weights) => {
    expect(() => shares(weights)).toThrow(/make no mean/);
  },
);

test("one wrong member of five moves a robust mean no further than the others are", () => {
  const sound = [1, 2, 3, 4].map((value) => Float32Array.of(value, -value));
  for (const wrong of [1e30, -1e30]) {
    const rows = [...sound, Float32Array.of(wrong, wrong)];
    for (const mean of [trimmedMean(rows), centeredClip(rows)]) {
      for (const value of mean) expect(Math.abs(value)).toBeLessThanOrEqual(4.5);
    }
  }
});
