import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { clippedMean } from "../../../../../../webapp/static/src/core/numerics/butterfly/clipped-mean";
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
}

const path = new URL("../../../../../contract/vectors/butterfly.json", import.meta.url);
const golden = JSON.parse(readFileSync(path, "utf8")) as readonly Case[];

function pieces({ seed, members, liars, values }: Case): Float32Array[] {
  return Array.from({ length: members }, (_, member) => {
    const piece = uniform(seed, member, 0, values).map((value) => 2 * value - 1);
    return member < liars ? piece.map((value) => value * -1000) : piece;
  });
}

describe("the clipped mean of a part", () => {
  test.each(golden)("of $members pieces of $values values has the bits of Python's", (each) => {
    const rows = pieces(each);
    const made = clippedMean(rows, each.radius);
    expect(made.turns).toBe(each.turns);
    expect(createHash("sha256").update(new Uint8Array(made.mean.buffer)).digest("hex")).toBe(each.sha256);
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
