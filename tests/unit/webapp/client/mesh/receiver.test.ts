import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Chunk, Receiver } from "../../../../../webapp/static/src/client/mesh/receiver";

const WHOLE = Uint8Array.from({ length: 100 }, (_, i) => i);

function chunk(offset: number, end: number, more: Partial<Chunk> = {}): Chunk {
  const data = WHOLE.slice(offset, end);
  return { type: "piece", round: 1, group: 0, part: 2, contributors: [], offset, data, ...more } as Chunk;
}

describe("Chunks on their way in", () => {
  test("are a part's bytes when the last one is here, wherever they are cut", () => {
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 99 }), { maxLength: 10 });
    fc.assert(
      fc.property(cuts, (places) => {
        const ends = [...places.sort((a, b) => a - b), 100];
        const arrivals = new Receiver();
        const taken = ends.map((end, i) => arrivals.take(1, chunk(ends[i - 1] ?? 0, end), 100));
        expect(taken.slice(0, -1).every((bytes) => bytes === null)).toBe(true);
        expect(taken.at(-1)).toEqual(WHOLE);
      }),
    );
  });

  test("of different members, parts and kinds do not mix", () => {
    const arrivals = new Receiver();
    const others = [{ part: 3 }, { type: "mean", contributors: [0, 1] }] as const;
    for (const other of others) expect(arrivals.take(1, chunk(0, 60, other), 100)).toBeNull();
    expect(arrivals.take(2, chunk(0, 60), 100)).toBeNull();
    expect(arrivals.take(1, chunk(60, 100), 100)).toBeNull();
    expect(arrivals.take(2, chunk(60, 100), 100)).toEqual(WHOLE);
    for (const other of others) expect(arrivals.take(1, chunk(60, 100, other), 100)).toEqual(WHOLE);
  });

  test("begin again after a link broke, and what is left of before is passed over", () => {
    const arrivals = new Receiver();
    arrivals.take(1, chunk(0, 60), 100);
    arrivals.drop(1);
    expect(arrivals.take(1, chunk(60, 100), 100)).toBeNull();
    arrivals.take(1, chunk(0, 50), 100);
    expect(arrivals.take(1, chunk(60, 100), 100)).toBeNull();
    expect(arrivals.take(1, chunk(50, 100), 100)).toEqual(WHOLE);
  });

  test("of a sum begin again when others are in it", () => {
    const arrivals = new Receiver();
    arrivals.take(1, chunk(0, 60, { contributors: [3] }), 100);
    expect(arrivals.take(1, chunk(60, 100, { contributors: [3, 1] }), 100)).toBeNull();
    expect(arrivals.take(1, chunk(60, 100, { contributors: [3] }), 100)).toEqual(WHOLE);
  });

  test("of an empty part are one", () => {
    expect(new Receiver().take(1, chunk(0, 0), 0)).toEqual(new Uint8Array());
  });

  test("are refused beyond the part's end", () => {
    expect(() => new Receiver().take(1, chunk(0, 100), 99)).toThrow(RangeError);
    expect(() => new Receiver().take(1, chunk(1, 100, { offset: 2 ** 52 }), 99)).toThrow(RangeError);
  });
});
