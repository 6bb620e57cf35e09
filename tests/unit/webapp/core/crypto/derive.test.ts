import { expect, test } from "vitest";
import { fromHex } from "../../../../../webapp/static/src/core/crypto/bytes";
import {
  hkdf,
  ownKey,
  pairKey,
  rotationKey,
  sealingKeys,
} from "../../../../../webapp/static/src/core/crypto/derive";

const AGREED = new Uint8Array(32).fill(7);
const CONTEXT = new Uint8Array(32).fill(9);

test("keys are derived as in RFC 5869, test cases 1 and 3", async () => {
  const secret = new Uint8Array(22).fill(0x0b);
  const salt = fromHex("000102030405060708090a0b0c");
  expect(await hkdf(secret, salt, fromHex("f0f1f2f3f4f5f6f7f8f9"), 42)).toEqual(
    fromHex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"),
  );
  expect(await hkdf(secret, new Uint8Array(), new Uint8Array(), 42)).toEqual(
    fromHex("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"),
  );
});

test("both ends of a pair derive the same mask, and each direction another seal", async () => {
  expect(await pairKey(AGREED, CONTEXT, 3, 1)).toEqual(await pairKey(AGREED, CONTEXT, 1, 3));
  expect(await sealingKeys(AGREED, CONTEXT, 3, 1)).not.toEqual(await sealingKeys(AGREED, CONTEXT, 1, 3));
});

test("another context, purpose or place makes another key", async () => {
  const keys = await Promise.all([
    pairKey(AGREED, CONTEXT, 0, 1),
    pairKey(AGREED, CONTEXT, 0, 2),
    pairKey(
      AGREED,
      CONTEXT.map((byte) => byte + 1),
      0,
      1,
    ),
    sealingKeys(AGREED, CONTEXT, 0, 1).then(([seed]) => seed),
    sealingKeys(AGREED, CONTEXT, 0, 1).then(([, maskKey]) => maskKey),
    ownKey(AGREED, CONTEXT, 0),
    ownKey(AGREED, CONTEXT, 1),
  ]);
  expect(new Set(keys.map(String)).size).toBe(keys.length);
});

test("the key of the rotation is public and the same in both languages", async () => {
  expect(await rotationKey(CONTEXT)).toEqual(
    fromHex("7a0b669ff1c8f49e9892266f72553cd57ea05f379b9a3660e097b0caafde1256"),
  );
});
