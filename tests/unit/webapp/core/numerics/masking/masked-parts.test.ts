import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Bytes } from "../../../../../../webapp/static/src/core/crypto/bytes";
import { keyPair } from "../../../../../../webapp/static/src/core/crypto/keys";
import { addMasks } from "../../../../../../webapp/static/src/core/crypto/keystream";
import { commonKey, type PadContext, pads } from "../../../../../../webapp/static/src/core/crypto/pads";
import { shares } from "../../../../../../webapp/static/src/core/numerics/aggregation/part-mean";
import { UnfitError } from "../../../../../../webapp/static/src/core/numerics/aggregation/precision";
import {
  addPieces,
  checkedMean,
  checkedPiece,
  littleEndianBytes,
  type PartSubject,
  pieceWords,
  readMean,
} from "../../../../../../webapp/static/src/core/numerics/masking/masked-parts";
import { uniform } from "../../../../../../webapp/static/src/core/numerics/philox";

/** Bytes too many for the file: how many, the first ones, and their hash. */
interface Told {
  readonly bytes: number;
  readonly first: string;
  readonly sha256: string;
}

interface Sum {
  readonly places: readonly number[];
  readonly part: number;
  readonly subject: PartSubject;
  readonly values: number;
  readonly pads: Readonly<Record<string, readonly { readonly key: string; readonly sign: number }[]>>;
  readonly pieces: readonly Told[];
  readonly mean: Told;
  readonly decoded: Told;
}

interface Golden extends PadContext {
  readonly members: Readonly<
    Record<string, { readonly private: string; readonly key: string; readonly weight: number }>
  >;
  readonly common: readonly { readonly own: number; readonly other: number; readonly key: string }[];
  readonly words: readonly {
    readonly subject: PartSubject;
    readonly values: string;
    readonly share: number;
    readonly words: string;
  }[];
  readonly sums: readonly Sum[];
}

const path = new URL("../../../../../contract/vectors/masked_pieces.json", import.meta.url);
const golden = JSON.parse(readFileSync(path, "utf8")) as Golden;

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));
const hex = (data: Uint8Array) => Buffer.from(data).toString("hex");
const rawOf = (values: Float32Array) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

function summary(data: Uint8Array): Told {
  const sha256 = createHash("sha256").update(data).digest("hex");
  return { bytes: data.length, first: hex(data.subarray(0, 64)), sha256 };
}

function member(place: number) {
  const { private: secret, key, weight } = golden.members[place] as Golden["members"][string];
  return { keys: keyPair(bytes(secret)), key: bytes(key), weight };
}

async function common(own: number, other: number): Promise<Bytes> {
  const key = await commonKey(await member(own).keys, member(other).key, own, other, golden);
  if (key === null) throw new Error("These are sound keys.");
  return key;
}

async function padsOf(own: number, { places, part }: Sum) {
  const others = places.filter((place) => place !== own);
  const keys = new Map(
    await Promise.all(others.map(async (other) => [other, await common(own, other)] as const)),
  );
  return pads(own, keys, part, places);
}

async function piece(place: number, at: number, sum: Sum): Promise<Bytes> {
  const values = uniform(sum.part, place, 0, sum.values).map((value) => 0.5 * (2 * value - 1));
  const each = shares(sum.places.map((one) => member(one).weight));
  const words = pieceWords(values, each[at] as number, sum.subject);
  await addMasks(words, await padsOf(place, sum));
  return littleEndianBytes(words);
}

describe("Masked pieces are those of Python", () => {
  test("from a member's keys on", async () => {
    for (const place of Object.keys(golden.members)) {
      const { keys, key } = member(Number(place));
      expect((await keys).publicKey).toEqual(key);
    }
    for (const { own, other, key } of golden.common) {
      expect(hex(await common(own, other))).toBe(key);
      expect(hex(await common(other, own))).toBe(key);
    }
  });

  test.each(golden.words)("in their words of $subject", ({ subject, values, share, words }) => {
    const read = new Float32Array(bytes(values).buffer);
    expect(hex(littleEndianBytes(pieceWords(read, share, subject)))).toBe(words);
  });

  test.each(golden.sums)("for the set $places, and so is their mean", async (sum) => {
    const { places, values, subject } = sum;
    for (const place of places) {
      const made = (await padsOf(place, sum)).map(({ key, sign }) => ({ key: hex(key), sign }));
      expect(made).toEqual(sum.pads[place]);
    }
    const pieces = await Promise.all(places.map((place, at) => piece(place, at, sum)));
    expect(pieces.map(summary)).toEqual(sum.pieces);
    const mean = addPieces(pieces, values);
    expect(summary(mean)).toEqual(sum.mean);
    expect(summary(rawOf(readMean(checkedMean(mean, values), subject)))).toEqual(sum.decoded);
  });
});

describe("Masked pieces", () => {
  test("say nothing without those of all others", async () => {
    const sum = golden.sums[0] as Sum;
    const pieces = await Promise.all(sum.places.map((place, at) => piece(place, at, sum)));
    expect(() => checkedMean(addPieces(pieces.slice(1), sum.values), sum.values)).toThrow(
      /masks were left in it/,
    );
  });

  test("are refused with another length, any words as their length is right", () => {
    expect(() => checkedPiece(new Uint8Array(7), 2)).toThrow(UnfitError);
    expect(() => checkedMean(new Uint8Array(12), 2)).toThrow("2 masked values are 8 bytes, not 12.");
    const any = Uint8Array.of(0, 0, 0, 0x80, 255, 255, 255, 0x7f);
    expect(checkedPiece(any, 2)).toBe(any);
    expect(() => checkedMean(any, 2)).toThrow(UnfitError);
  });

  test("are read where words do not begin, too", () => {
    const shifted = new Uint8Array(9).subarray(1);
    shifted.set([0, 0, 0, 0x40, 0, 0, 0, 0xc0]);
    expect([...readMean(checkedMean(shifted, 2), "changes")]).toEqual([64, -64]);
  });

  test("are not made of what is no number", () => {
    for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => pieceWords(Float32Array.of(1, wrong), 0.5, "changes")).toThrow(/learning rate/);
    }
  });

  test("have no pads with members whose keys are not known, or not sound", async () => {
    await expect(pads(0, new Map(), 0, [0, 1, 2])).rejects.toThrow("place 1");
    expect(await commonKey(await member(0).keys, new Uint8Array(32), 0, 1, golden)).toBeNull();
  });
});
