/** Secrets out of shares, by integers of any size: what servers do, and clients never. */

import { type Bytes, fromHex } from "../../../../../webapp/static/src/core/crypto/bytes";

export const PRIME = 2n ** 256n - 189n;

export function number(bytes: Uint8Array): bigint {
  return bytes.reduce((value, byte) => value * 256n + BigInt(byte), 0n);
}

export function bytes(value: bigint): Bytes {
  return fromHex(value.toString(16).padStart(64, "0"));
}

function power(base: bigint, exponent: bigint): bigint {
  if (exponent === 0n) return 1n;
  const half = power((base * base) % PRIME, exponent / 2n);
  return exponent % 2n === 0n ? half : (half * base) % PRIME;
}

/** The secret by Lagrange's interpolation at 0. */
export function recover(shares: ReadonlyMap<number, Uint8Array>): Bytes {
  let secret = 0n;
  for (const [place, share] of shares) {
    let [above, below] = [1n, 1n];
    for (const other of shares.keys()) {
      if (other === place) continue;
      above = (above * BigInt(other + 1)) % PRIME;
      below = (below * (PRIME + BigInt(other - place))) % PRIME;
    }
    secret += number(share) * above * power(below, PRIME - 2n);
  }
  return bytes(secret % PRIME);
}
