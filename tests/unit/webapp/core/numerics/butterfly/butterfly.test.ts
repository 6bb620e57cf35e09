import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  agreement,
  likeness,
  shortestCompared,
} from "../../../../../../webapp/static/src/core/numerics/aggregation/result-agreement";
import { clippedMean } from "../../../../../../webapp/static/src/core/numerics/butterfly/clipped-mean";
import {
  meanOfPart,
  partNumbers,
  partValues,
} from "../../../../../../webapp/static/src/core/numerics/butterfly/part-values";
import { projectionProduct } from "../../../../../../webapp/static/src/core/numerics/butterfly/projection";
import { uniform } from "../../../../../../webapp/static/src/core/numerics/philox";

interface Case {
  readonly seed: number;
  readonly members: number;
  readonly liars: number;
  readonly values: number;
  readonly radius: number;
  readonly coin: number;
  readonly turns: number;
  readonly sha256: string;
  readonly lengths: readonly number[];
  readonly products: readonly number[];
  readonly likeness: { readonly distance: number; readonly cosine: number };
  readonly shortest: number;
  readonly short_likeness: { readonly distance: number; readonly cosine: number };
  readonly unmeasured: {
    readonly sha256: string;
    readonly products: readonly number[];
    readonly lengths: readonly number[];
  };
}

const path = new URL("../../../../../contract/vectors/butterfly.json", import.meta.url);
const golden = JSON.parse(readFileSync(path, "utf8")) as readonly Case[];

function pieces({ seed, members, liars, values }: Case): Float32Array[] {
  return Array.from({ length: members }, (_, member) => {
    const piece = uniform(seed, member, 0, values).map((value) => 2 * value - 1);
    return member < liars ? piece.map((value) => value * -1000) : piece;
  });
}

function sha256Of(vector: Float32Array): string {
  return createHash("sha256").update(new Uint8Array(vector.buffer)).digest("hex");
}

describe("the clipped mean of a part", () => {
  test.each(golden)("of $members pieces of $values values has the bits of Python's", (each) => {
    const rows = pieces(each);
    const made = clippedMean(rows, each.radius);
    expect(made.turns).toBe(each.turns);
    expect(sha256Of(made.mean)).toBe(each.sha256);
    expect(made.lengths).toEqual(each.lengths);
    const projection = { mean: made.mean, radius: each.radius, coin: each.coin, part: each.seed };
    expect(rows.map((row) => projectionProduct(row, projection))).toEqual(each.products);
  });

  test("needs pieces and a radius", () => {
    expect(() => clippedMean([], 1)).toThrow(RangeError);
    for (const radius of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => clippedMean([new Float32Array(2)], radius)).toThrow(RangeError);
    }
  });
});

describe("the values of a part", () => {
  test.each(golden)("of $members pieces of $values values have the bits of Python's", (each) => {
    const { values: size, coin, seed, unmeasured } = each;
    const rows = pieces(each);
    (rows.at(-1) as Float32Array)[size >> 1] = Number.NaN;
    const taken = rows.map((row) => partValues(new Uint8Array(row.buffer), size));
    const mean = meanOfPart(taken, 0);
    expect(sha256Of(mean)).toBe(unmeasured.sha256);
    const { products, lengths } = partNumbers(taken, mean, 0, coin, seed);
    expect({ products, lengths }).toEqual({ products: unmeasured.products, lengths: unmeasured.lengths });
  });

  test("of another number of bytes count as zeros", () => {
    expect([...partValues(new Uint8Array(7), 2)]).toEqual([0, 0]);
    expect([...partValues(new Uint8Array(12), 2)]).toEqual([0, 0]);
  });

  test("are read wherever the bytes begin", () => {
    const bytes = new Uint8Array(9);
    bytes.set(new Uint8Array(Float32Array.of(1.5, -2).buffer), 1);
    expect([...partValues(bytes.subarray(1), 2)]).toEqual([1.5, -2]);
  });
});

describe("the likeness of two results", () => {
  test.each(golden)("of $values values is Python's", (each) => {
    const rows = pieces(each);
    const found = likeness(rows[0] as Float32Array, clippedMean(rows, each.radius).mean);
    expect(found.distance).toBeCloseTo(each.likeness.distance, 10);
    expect(found.cosine).toBeCloseTo(each.likeness.cosine, 10);
  });

  test.each(golden)("of short updates of $values values is Python's", (each) => {
    const rows = pieces(each);
    const weights = rows[0] as Float32Array;
    const shortest = shortestCompared(weights, 10, { distance: 0.02, cosine: 0.99 });
    expect(shortest).toBeCloseTo(each.shortest, 10);
    const short = clippedMean(rows, each.radius).mean.map((value) => value * 1e-7);
    const found = likeness(short, new Float32Array(short.length), shortest);
    expect(found.distance).toBeCloseTo(each.short_likeness.distance, 10);
    expect(found.cosine).toBeCloseTo(each.short_likeness.cosine, 10);
    expect(shortestCompared(Float32Array.of(Number.NaN), 1, { distance: 0.02, cosine: 0.99 })).toBe(0);
  });

  test("of zeros, and of what is not finite", () => {
    const [none, some] = [new Float32Array(2), Float32Array.of(1, 0)];
    expect(likeness(none, none)).toEqual({ distance: 0, cosine: 1 });
    expect(likeness(none, some)).toEqual({ distance: 1, cosine: 0 });
    expect(likeness(some, Float32Array.of(Number.NaN, 0))).toEqual({ distance: Infinity, cosine: -1 });
    expect(() => likeness(some, new Float32Array(3))).toThrow(RangeError);
  });

  test("is the same, doubtful or other by the tolerance", () => {
    const tolerance = { distance: 0.1, cosine: 0.9, blame: 0.3 };
    expect(agreement({ distance: 0.1, cosine: 0.9 }, tolerance)).toBe("same");
    expect(agreement({ distance: 0.1, cosine: 0.8 }, tolerance)).toBe("doubtful");
    expect(agreement({ distance: 0.3, cosine: 1 }, tolerance)).toBe("doubtful");
    expect(agreement({ distance: 0.31, cosine: 1 }, tolerance)).toBe("other");
  });
});
