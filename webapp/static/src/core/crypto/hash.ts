/** SHA-256 without a promise, for machines, which take each event at once: WebCrypto answers later. */

import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, fields, toHex } from "./bytes";

/** Returns the SHA-256 of bytes, 32 bytes. */
export function hash(bytes: Uint8Array): Bytes {
  return new Uint8Array(sha256(bytes));
}

/** Returns the SHA-256 of parts, each with its length, in hexadecimal. */
export function hashFields(...parts: readonly Uint8Array[]): string {
  return toHex(hash(fields(...parts)));
}
