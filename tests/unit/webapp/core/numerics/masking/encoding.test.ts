import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  maskedBytes,
  packUpdate,
} from "../../../../../../webapp/static/src/core/numerics/masking/bit-packing";
import {
  clipFactor,
  contribution,
  encode,
  encodingOf,
  privateContribution,
  roundValues,
} from "../../../../../../webapp/static/src/core/numerics/masking/encoding";
import { rotate, signWords } from "../../../../../../webapp/static/src/core/numerics/masking/rotation";
import { philoxWords, uniform } from "../../../../../../webapp/static/src/core/numerics/philox";
import golden from "../../../../../contract/vectors/encoding.json";

type Case = (typeof golden)[number];

const sum = (values: ArrayLike<number>): number => Array.from(values).reduce((a, b) => (a + b) >>> 0, 0);

function encoded(one: Case): Uint32Array {
  const encoding = encodingOf(one);
  const update = uniform(one.seed, 1, 0, one.parameters).map(
    (value) => Math.floor(256 * one.most * (2 * value - 1)) / 256,
  );
  const words = philoxWords(one.seed, 2, 0, encoding.words);
  const signs = philoxWords(one.seed, 3, 0, signWords(one.parameters));
  encode(
    encoding,
    { update, weight: one.weight, loss: one.loss, rows: one.told, counted: true },
    words,
    signs,
  );
  return words;
}

describe("encoding", () => {
  it.each(golden)("tells $parameters values among $members in $bits bits with Python's words", (one) => {
    const words = encoded(one);
    expect(Array.from(words.subarray(0, one.first.length))).toEqual(one.first);
    expect(Array.from(words.subarray(-one.last.length))).toEqual(one.last);
    expect(sum(words)).toBe(one.sum);
    expect(encodingOf(one).shareVariance).toBe(one.share_variance);
  });

  it.each(golden)("packs $parameters values of $bits bits into Python's bytes", (one) => {
    const packed = packUpdate(encoded(one), one.parameters, one.bits);
    expect(packed.length).toBe(one.bytes);
    expect(packed.length).toBe(maskedBytes(one.parameters, one.rows, one.bits));
    expect(Buffer.from(packed.subarray(-one.packed.length / 2)).toString("hex")).toBe(one.packed);
    expect(sum(packed)).toBe(one.packed_sum);
  });

  it("packs every bit of every width, lowest first", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 32 }), fc.array(fc.nat(2 ** 32 - 1)), (bits, values) => {
        const packed = packUpdate(Uint32Array.from(values), values.length, bits);
        const all = packed.reduceRight((rest, byte) => rest * 256n + BigInt(byte), 0n);
        values.forEach((value, i) => {
          const mask = 2n ** BigInt(bits) - 1n;
          expect((all >> BigInt(i * bits)) & mask).toBe(BigInt(value) & mask);
        });
      }),
    );
  });

  it("rotates without changing the norm, whatever the length", () => {
    for (const size of [1, 2, 3, 100, 128, 1000, 70_000, 200_000]) {
      const values = Float32Array.from(uniform(size, 1, 0, size), (value) => value - 0.5);
      const rotated = rotate(values, philoxWords(size, 2, 0, signWords(size)));
      expect(Math.abs(clipFactor(rotated, 1e-6) / clipFactor(values, 1e-6) - 1)).toBeLessThan(1e-5);
    }
  });

  it("rounds to the value on average", () => {
    const words = philoxWords(1, 1, 0, 100_000);
    roundValues(new Float32Array(100_000).fill(-0.3), 1, 5, words);
    const mean = Int32Array.from(words).reduce((a, b) => a + b, 0) / 100_000;
    expect(Math.abs(mean + 0.3)).toBeLessThan(0.01);
  });

  it("never tells more than its share of the range", () => {
    const words = new Uint32Array(4).fill(2 ** 32 - 1);
    roundValues([1e30, -1e30, 7, -7], 1, 7, words);
    expect(Array.from(Int32Array.from(words))).toEqual([7, -7, 7, -7]);
  });

  it("gives a client without examples no weight, loss or metrics", () => {
    const told = contribution(new Float32Array(2), 0, 10, Number.NaN, [1, 2]);
    expect(told).toMatchObject({ weight: 0, loss: 0, rows: [0, 0] });
  });

  it("tells nothing but the update of a client that is protected by noise", () => {
    const encoding = encodingOf({
      members: 3,
      parameters: 1,
      rows: 1,
      bits: 32,
      clip: 1,
      noise: 0,
      sharers: 1,
    });
    const words = philoxWords(1, 1, 0, encoding.words);
    encode(encoding, privateContribution(Float32Array.of(0.5), 1), words);
    expect(Array.from(words.subarray(1))).toEqual([encoding.furtherLevels, 0, 0, 0, 0]);
  });

  it("refuses what cannot be told", () => {
    const terms = { members: 3, parameters: 2, rows: 0, bits: 32, clip: 1, noise: 0, sharers: 1 };
    const told = { update: new Float32Array(2), weight: 1, loss: 0, rows: [], counted: true };
    const tell = (change: object): void =>
      encode(encodingOf(terms), { ...told, ...change }, new Uint32Array(5));
    expect(() => tell({})).not.toThrow();
    expect(() => tell({ update: Float32Array.of(1, Number.NaN) })).toThrow("NaN or infinity");
    expect(() => tell({ loss: Number.POSITIVE_INFINITY })).toThrow("NaN or infinity");
    expect(() => tell({ weight: 1.1 })).toThrow("cannot be told");
    expect(() => tell({ update: new Float32Array(3) })).toThrow("do not go into");
    expect(() => encodingOf({ ...terms, members: 40_000, bits: 16 })).toThrow("do not fit");
    const rotated = encodingOf({ ...terms, bits: 16 });
    expect(() => encode(rotated, told, new Uint32Array(5))).toThrow("random signs");
    expect(() => encode(rotated, told, new Uint32Array(5), new Uint32Array(9))).toThrow("random words");
  });
});
