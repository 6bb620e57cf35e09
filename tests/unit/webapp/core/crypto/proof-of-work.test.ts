import { readFileSync } from "node:fs";
import { sha256 } from "@noble/hashes/sha2.js";
import { describe, expect, test } from "vitest";
import { fromHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import { PARTS, search, seedOf } from "../../../../../webapp/static/src/core/crypto/proof-of-work";

interface Case {
  readonly seed: string;
  readonly bits: number;
  readonly first: number;
  readonly nonces: readonly number[];
}

const cases = JSON.parse(
  readFileSync("tests/contract/vectors/proof_of_work.json", "utf8"),
) as readonly Case[];

describe("A proof of work", () => {
  test.each(cases)(
    "has the nonces that Python finds: $bits bits from $first on",
    ({ seed, bits, first, nonces }) => {
      const found = nonces.map((_, part) => search(fromHex(seed), part, bits, first, 2 ** 20));
      expect(found).toEqual(nonces);
      expect(found).toHaveLength(PARTS);
    },
  );

  test("is searched by SHA-256, which another library computes, too", () => {
    const seed = fromHex("a7".repeat(32));
    const nonce = search(seed, 3, 16, 0, 2 ** 20) ?? -1;
    const block = new DataView(new ArrayBuffer(44));
    seed.forEach((byte, index) => {
      block.setUint8(index, byte);
    });
    block.setUint32(32, 3);
    block.setBigUint64(36, BigInt(nonce));
    const word = new DataView(sha256(new Uint8Array(block.buffer)).buffer).getUint32(0);
    expect(word >>> 20).toBe(0);
  });

  test("is not found where there is none", () => {
    expect(search(fromHex("00".repeat(32)), 0, 24, 0, 10)).toBeNull();
  });

  test("has the seed of its challenge", () => {
    expect(seedOf(`1700000000.${"0f".repeat(32)}`)).toEqual(fromHex("0f".repeat(32)));
    for (const text of [
      "",
      "1700000000",
      `.${"0f".repeat(32)}`,
      `17.${"0f".repeat(31)}`,
      `17.${"0F".repeat(32)}`,
    ])
      expect(seedOf(text)).toBeNull();
  });
});
