import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isValidSecret, randomnessBytes, split } from "../../../../../webapp/static/src/core/crypto/shamir";
import { bytes, number, PRIME, recover } from "./lagrange";

/** The polynomial that `split` evaluates, by integers of any size. */
function value(secret: Uint8Array, randomness: Uint8Array, x: bigint): bigint {
  const coefficients = [number(secret)];
  for (let from = 0; from < randomness.length; from += 32)
    coefficients.push(number(randomness.subarray(from, from + 32)));
  return coefficients.reduceRight((sum, coefficient) => (sum * x + coefficient) % PRIME, 0n);
}

const secret = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((drawn) => Uint8Array.from(drawn))
  .filter(isValidSecret);

describe("shares", () => {
  test("are the values of the polynomial, at the field's ends too", () => {
    const extremes = [0n, 1n, 188n, 189n, 190n, PRIME - 1n, 2n ** 255n, 2n ** 128n - 1n].map(bytes);
    // Coefficients may be above the prime: they count modulo it.
    const largest = new Uint8Array(32 * 5).fill(0xff);
    const holders = [0, 1, 2, 63, 255, 4095, 16382];
    for (const one of extremes)
      for (const randomness of [largest, new Uint8Array(32 * 5)])
        expect(split(one, holders, 6, randomness).map(number)).toEqual(
          holders.map((place) => value(one, randomness, BigInt(place + 1))),
        );
  });

  test("of any secret are the values of the polynomial, and as many as the threshold recover it", () => {
    fc.assert(
      fc.property(
        secret,
        fc.uniqueArray(fc.integer({ min: 0, max: 4095 }), { minLength: 1, maxLength: 12 }),
        fc.nat(),
        fc.infiniteStream(fc.integer({ min: 0, max: 255 })),
        (hidden, holders, pick, stream) => {
          const threshold = 1 + (pick % holders.length);
          const randomness = Uint8Array.from(
            { length: randomnessBytes(threshold) },
            () => stream.next().value ?? 0,
          );
          const shares = split(hidden, holders, threshold, randomness);
          expect(shares.map(number)).toEqual(
            holders.map((place) => value(hidden, randomness, BigInt(place + 1))),
          );
          const held = holders.map((place, i) => [place, shares[i] as Uint8Array] as const);
          expect(recover(new Map(held.slice(-threshold)))).toEqual(hidden);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("fewer than the threshold recover something else", () => {
    const hidden = bytes(123n);
    const randomness = crypto.getRandomValues(new Uint8Array(randomnessBytes(3)));
    const shares = split(hidden, [0, 1, 2], 3, randomness);
    expect(recover(new Map([...shares.entries()].slice(0, 2)))).not.toEqual(hidden);
  });
});

test("numbers from the prime on are no secrets", () => {
  expect(isValidSecret(bytes(PRIME - 1n))).toBe(true);
  expect(isValidSecret(bytes(PRIME))).toBe(false);
  expect(isValidSecret(new Uint8Array(32).fill(0xff))).toBe(false);
  expect(isValidSecret(new Uint8Array(31))).toBe(false);
});

test("wrong secrets, holders, thresholds and lengths are refused", () => {
  const hidden = bytes(5n);
  const some = new Uint8Array(32);
  expect(() => split(bytes(PRIME), [0, 1], 2, some)).toThrow(/below the prime/);
  expect(() => split(hidden, [0, 1], 2, new Uint8Array(31))).toThrow(/random bytes/);
  expect(() => split(hidden, [0, 1], 3, new Uint8Array(64))).toThrow(/threshold/);
  expect(() => split(hidden, [0, 0], 2, some)).toThrow(/different/);
  expect(() => split(hidden, [-1, 0], 2, some)).toThrow(/places/);
  expect(() => split(hidden, [0, 0.5], 2, some)).toThrow(/places/);
  expect(() => split(hidden, [0, 16383], 2, some)).toThrow(/places/);
});
