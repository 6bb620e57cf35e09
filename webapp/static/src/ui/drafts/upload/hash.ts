/**
 * Computes the SHA-256 of a file of any size, piece by piece: the browser's own function needs all bytes in memory.
 */

import { sha256 } from "@noble/hashes/sha2.js";

const PIECE = 4 << 20;

/** Returns hexadecimal digits; `hashed` gets the number of bytes read. Throws the reason of `signal`'s abort. */
export async function hashOf(
  file: Blob,
  hashed: (bytes: number) => void,
  signal: AbortSignal,
): Promise<string> {
  const hash = sha256.create();
  for (let at = 0; at < file.size; at += PIECE) {
    hash.update(new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer()));
    signal.throwIfAborted();
    hashed(Math.min(file.size, at + PIECE));
  }
  return [...hash.digest()].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
