import { createCipheriv } from "node:crypto";
import { expect, test } from "vitest";
import { type Bytes, fromHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import { addMasks, BLOCK_BYTES } from "../../../../../webapp/static/src/core/crypto/keystream";

const random = (count: number): Bytes => crypto.getRandomValues(new Uint8Array(count));

/** OpenSSL's keystream, in one piece. */
function whole(key: Bytes, count: number): Uint32Array {
  const cipher = createCipheriv("aes-256-ctr", key, new Uint8Array(16));
  const bytes = Uint8Array.from(cipher.update(new Uint8Array(4 * count)));
  return new Uint32Array(bytes.buffer);
}

test("a keystream begins with the ciphertexts of counters 0, 1 and 2", async () => {
  // A key of zeros: NIST's AESAVS (GFSbox, all zero) and test case 14 of the GCM specification.
  const words = new Uint32Array(12);
  await addMasks(words, [{ key: new Uint8Array(32), sign: 1 }]);
  expect(new Uint8Array(words.buffer)).toEqual(
    fromHex(
      "dc95c078a2408989ad48a21492842087530f8afbc74536b9a963b4f1c4cb738bcea7403d4d606b6e074ec5d3baf39d18",
    ),
  );
});

test.each([0, 1, 3, BLOCK_BYTES / 4, 2 * (BLOCK_BYTES / 4) + 5, 3 * (BLOCK_BYTES / 4) - 1])(
  "%d words get the masks of all keys, by their signs, modulo 2^32",
  async (count) => {
    const keys = [random(32), random(32), random(32)] as const;
    const values = Uint32Array.from({ length: count }, (_, i) => Math.imul(i, 0x9e3779b9));
    const words = values.slice();
    await addMasks(words, [
      { key: keys[0], sign: 1 },
      { key: keys[1], sign: -1 },
      { key: keys[2], sign: 1 },
    ]);
    const [a, b, c] = keys.map((key) => whole(key, count)) as [Uint32Array, Uint32Array, Uint32Array];
    const wanted = values.map((value, i) => value + (a[i] as number) - (b[i] as number) + (c[i] as number));
    expect(Buffer.compare(Buffer.from(words.buffer), Buffer.from(wanted.buffer))).toBe(0);
  },
);

test("what one client adds and another takes away leaves the sum as it was", async () => {
  const key = random(32);
  const words = Uint32Array.from({ length: 1000 }, (_, i) => i);
  await addMasks(words, [{ key, sign: 1 }]);
  expect(words[0] === 0 && words[1] === 1).toBe(false);
  await addMasks(words, [{ key, sign: -1 }]);
  expect(words).toEqual(Uint32Array.from({ length: 1000 }, (_, i) => i));
});
