import { describe, expect, test } from "vitest";
import type { Bytes } from "../../../../../webapp/static/src/core/crypto/bytes";
import {
  partNumbers,
  partValues,
} from "../../../../../webapp/static/src/core/numerics/butterfly/part-values";
import { cut } from "../../../../../webapp/static/src/core/numerics/butterfly/parts";
import { performPartJob } from "../../../../../webapp/static/src/workers/averaging/part-jobs";

const SEED = 1234;
const BASE = Float32Array.of(10, 20, 30, 40, 50);

function bytesOf(values: Float32Array<ArrayBuffer>): Bytes {
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
  const found = (
    shown: typeof made,
    tolerance: { distance: number; cosine: number; blame: number } | null,
    base = new Float32Array(5),
  ) => performPartJob({ type: "compare", id: 1, made, shown, base: bytesOf(base), steps: 1, tolerance });

  test("tells bits apart", () => {
    const moved = cut(Float32Array.of(10, 20, 30, 40, 50.001), 2);
    expect(found(made, null)).toEqual({ type: "compared", found: "same", distance: null });
    expect(found(moved, null)).toEqual({ type: "compared", found: "other", distance: null });
  });

  test("tells how far works are apart where a distance is allowed", () => {
    const moved = cut(Float32Array.of(10, 20, 30, 40, 49), 2);
    const answer = { type: "compared", distance: expect.closeTo(1 / Math.sqrt(5500), 12) };
    expect(found(moved, { distance: 0.02, cosine: 0.99, blame: 0.1 })).toEqual({ ...answer, found: "same" });
    expect(found(moved, { distance: 0.01, cosine: 0.99, blame: 0.1 })).toEqual({
      ...answer,
      found: "doubtful",
    });
  });

  test("takes works for the same whose difference is that of rounded weights", () => {
    const moved = cut(Float32Array.of(10, 20, 30, 40, 49), 2);
    const tolerance = { distance: 0.001, cosine: 0.999_999, blame: 0.002 };
    expect(found(moved, tolerance)).toMatchObject({ found: "other" });
    expect(found(moved, tolerance, new Float32Array(5).fill(1e8))).toMatchObject({ found: "same" });
  });

  test("takes a piece of another size for zeros", () => {
    const short = [made[0] as Bytes, new Uint8Array(4)];
    expect(found(short, null)).toEqual({ type: "compared", found: "other", distance: null });
  });
});

describe("The check of what a worker said", () => {
  const sizes = [3, 2];
  const radii = [2, 1];
  const pieces = cut(BASE, 2);
  const means = cut(Float32Array.of(9, 21, 29, 41, 50), 2);
  const numbers = sizes.map((size, part) =>
    partNumbers(
      [partValues(pieces[part] as Bytes, size)],
      partValues(means[part] as Bytes, size),
      radii[part] as number,
      SEED,
      part,
    ),
  );
  const said = {
    products: numbers.flatMap(({ products }) => products),
    lengths: numbers.flatMap(({ lengths }) => lengths),
  };
  const check = (change: Partial<typeof said> & { readonly pieces?: readonly Bytes[] }) => {
    const about = { means, sizes, radii, seed: SEED, pieces: change.pieces ?? pieces };
    return performPartJob({ type: "check_numbers", id: 1, ...about, said: { ...said, ...change } });
  };
  const [right, wrong] = [true, false].map((are_right) => ({ type: "numbers_checked", are_right }));

  test("finds true numbers right", () => {
    expect(check({})).toEqual(right);
  });

  test("finds a false product or length of any part", () => {
    for (const part of [0, 1]) {
      const moved = (list: readonly number[]) => list.map((one, i) => (i === part ? one + 1e-9 : one));
      expect(check({ products: moved(said.products) })).toEqual(wrong);
      expect(check({ lengths: moved(said.lengths) })).toEqual(wrong);
    }
  });

  test("takes a piece of another size for zeros, whose numbers are others", () => {
    expect(check({ pieces: [pieces[0] as Bytes, new Uint8Array(4)] })).toEqual(wrong);
  });
});
