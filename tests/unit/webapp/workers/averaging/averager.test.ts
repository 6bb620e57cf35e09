import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AveragingWorker } from "../../../../../webapp/static/src/client/workers/averaging-worker";
import { decode, encode } from "../../../../../webapp/static/src/core/numerics/aggregation/precision";
import { averagingWorker } from "../../client/mesh/workers";

/** Part 1 of the group has no values. */
const BOUNDS = [0, 3, 3, 7];
const VECTORS = [
  [1, 2, 3, 4, 5, 6, 7],
  [0.5, 0, -1, 8, 1e9, -2, 0],
  [2, 2, 2, 2, 2, 2, 2],
].map((values) => Float32Array.from(values));
const WEIGHTS = [1, 2, 5];
const PLACES = [0, 1, 2];
const CONTEXT = { task: "digits", bundle: "0".repeat(64), round: 3, group: 1 };
/** Nothing is masked. */
const OPEN = { contributors: [], weights: [] };

let workers: readonly AveragingWorker[] = [];
beforeAll(async () => {
  workers = [await averagingWorker(), await averagingWorker(), await averagingWorker()];
});
afterAll(() => {
  for (const worker of workers) worker.terminate();
});

const workerAt = (place: number) => workers[place] as AveragingWorker;
const sha256 = (...bytes: Uint8Array[]) =>
  bytes.reduce((hash, one) => hash.update(one), createHash("sha256")).digest("hex");
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

async function prepare(place: number, commit = true, precision: "float16" | "masked" = "float16") {
  const vector = (VECTORS[place] as Float32Array).slice().buffer;
  const group = {
    bounds: BOUNDS,
    precision,
    subject: "changes",
    reducer: "mean",
    context: CONTEXT,
  } as const;
  return workerAt(place).ask({ type: "prepare", vector, place, commit, ...group }, [vector]);
}

/** All begin with a group that masks its pieces, and know each other's keys. */
async function meet(): Promise<void> {
  const prepared = await Promise.all(PLACES.map((place) => prepare(place, false, "masked")));
  for (const [place, { key }] of prepared.entries()) {
    for (const other of PLACES.filter((one) => one !== place)) {
      await workerAt(other).ask({ type: "keep_key", place, key });
    }
  }
}

/** Brings the piece of `part` from one place to another; its digest there. */
async function bring(part: number, from: number, to: number): Promise<Uint8Array> {
  const { bytes } = await workerAt(from).ask({ type: "make_piece", part, ...OPEN });
  const kept = { type: "keep_piece", place: from, part, contributors: [], bytes } as const;
  return (await workerAt(to).ask(kept, [bytes.buffer])).digest;
}

describe("An averaging worker", () => {
  test("commits to the pieces that it makes", async () => {
    const { commitments } = await prepare(0);
    expect(commitments.length).toBe(3);
    for (const [part, commitment] of commitments.entries()) {
      const { bytes } = await workerAt(0).ask({ type: "make_piece", part, ...OPEN });
      expect(sha256(bytes)).toBe(hex(commitment));
      expect(bytes).toEqual(
        encode((VECTORS[0] as Float32Array).slice(BOUNDS[part], BOUNDS[part + 1]), "float16"),
      );
    }
  });

  test("makes with others the same result for all of them", async () => {
    const prepared = await Promise.all(PLACES.map((place) => prepare(place)));
    const digests: Uint8Array[] = [];
    for (const part of PLACES) {
      for (const from of PLACES.filter((place) => place !== part)) {
        expect(await bring(part, from, part)).toEqual(prepared[from]?.commitments[part]);
      }
      const reduce = { type: "reduce", part, contributors: PLACES, weights: WEIGHTS, source: null } as const;
      const { digest } = await workerAt(part).ask(reduce);
      digests.push(digest);
      const mean = await workerAt(part).ask({ type: "copy_mean", part, digest });
      expect(hex(digest)).toBe(sha256(Uint8Array.of(3, 0, 1, 2), mean.bytes));
      for (const to of PLACES.filter((place) => place !== part)) {
        const { contributors, bytes } = await workerAt(part).ask({ type: "copy_mean", part, digest });
        const keep = { type: "keep_mean", place: part, part, contributors, bytes } as const;
        expect((await workerAt(to).ask(keep, [bytes.buffer])).digest).toEqual(digest);
      }
    }
    const results = await Promise.all(
      PLACES.map(async (place) => (await workerAt(place).ask({ type: "take", parts: digests })).vector),
    );
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
    const wanted = [1.5, 1.5, 1.375, 3.75, 16378.5, 1.5, 2.125];
    results[0]?.forEach((value, i) => {
      expect(Math.abs(value - (wanted[i] as number))).toBeLessThanOrEqual(8);
    });
    expect([...(results[0] as Float32Array).slice(0, 4)]).toEqual(wanted.slice(0, 4));
  });

  test("adds its own values to a sum on its way around a ring", async () => {
    await Promise.all(PLACES.map((place) => prepare(place, false)));
    const begun = await workerAt(1).ask({ type: "add_piece", part: 0, source: null, weight: 0.25 });
    expect([...decode(begun.bytes, 3, "float16")]).toEqual([0.125, 0, -0.25]);
    const first = { type: "keep_piece", place: 1, part: 0, contributors: [1], bytes: begun.bytes } as const;
    await workerAt(2).ask(first, [begun.bytes.buffer]);
    const on = await workerAt(2).ask({ type: "add_piece", part: 0, source: 1, weight: 0.625 });
    expect([...decode(on.bytes, 3, "float16")]).toEqual([1.375, 1.25, 1]);
    const second = { type: "keep_piece", place: 2, part: 0, contributors: [1, 2], bytes: on.bytes } as const;
    await workerAt(0).ask(second, [on.bytes.buffer]);
    const reduce = { type: "reduce", part: 0, contributors: PLACES, weights: WEIGHTS, source: 2 } as const;
    const { digest } = await workerAt(0).ask(reduce);
    const { bytes } = await workerAt(0).ask({ type: "copy_mean", part: 0, digest });
    expect([...decode(bytes, 3, "float16")]).toEqual([1.5, 1.5, 1.375]);
  });

  test.each([
    ["too few bytes", new Uint8Array(5), /6 bytes, not 5/],
    ["NaN", Uint8Array.of(0, 0, 0, 0x7e, 0, 0), /NaN/],
  ])("refuses pieces and means with %s, and says whose they are", async (_, wrong, reason) => {
    await prepare(0);
    const keepPiece = {
      type: "keep_piece",
      place: 2,
      part: 0,
      contributors: [],
      bytes: wrong.slice(),
    } as const;
    await expect(workerAt(0).ask(keepPiece)).rejects.toMatchObject({
      name: "UnfitMember",
      place: 2,
      message: expect.stringMatching(reason),
    });
    const keepMean = {
      type: "keep_mean",
      place: 1,
      part: 0,
      contributors: PLACES,
      bytes: wrong.slice(),
    } as const;
    await expect(workerAt(0).ask(keepMean)).rejects.toMatchObject({ name: "UnfitMember", place: 1 });
    const reduce = { type: "reduce", part: 0, contributors: [0, 2], weights: [1, 1], source: null } as const;
    await expect(workerAt(0).ask(reduce)).rejects.toThrow("from place 2 is not here");
  });

  test("masks a part for a set once, whatever weights are named later: a pad hides one piece only", async () => {
    const set = { part: 0, contributors: PLACES, weights: WEIGHTS };
    await meet();
    const first = await workerAt(1).ask({ type: "make_piece", ...set });
    const again = await workerAt(1).ask({ type: "make_piece", ...set, weights: [1, 7, 5] });
    expect(again.bytes).toEqual(first.bytes);
    const fewer = { part: 0, contributors: [0, 1], weights: [1, 2] };
    expect((await workerAt(1).ask({ type: "make_piece", ...fewer })).bytes).not.toEqual(first.bytes);
  });

  test("refuses a vector that is no number any more", async () => {
    const vector = Float32Array.of(1, Number.NaN).buffer;
    const group = {
      place: 0,
      bounds: [0, 1, 2],
      subject: "changes",
      reducer: "mean",
      context: CONTEXT,
    } as const;
    for (const precision of ["int8", "masked"] as const) {
      const prepare = { type: "prepare", vector, precision, commit: precision === "int8", ...group } as const;
      await expect(workerAt(0).ask(prepare)).rejects.toThrow("learning rate");
    }
  });
});
