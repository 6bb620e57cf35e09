/**
 * Commitments to the results of work units, which bind a client to its vector before another one is seen. The twin is
 * backend/crypto/result_commitments.py.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, concat, integer, toHex, utf8 } from "./bytes";

export const SALT_BYTES = 32;

/**
 * SHA-256(salt, identity, lease, vector) in hexadecimal. `client` is the public id, `update` the little-endian float32
 * vector. It works on pages without HTTPS, too, where browsers have no Web Crypto.
 */
export async function resultCommitment(
  salt: Bytes,
  client: string,
  lease: number,
  update: Bytes,
): Promise<string> {
  if (salt.length !== SALT_BYTES) throw new Error(`A salt has ${SALT_BYTES} bytes, not ${salt.length}.`);
  const content = concat([salt, utf8(client), integer(lease), update]);
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  return toHex(subtle ? new Uint8Array(await subtle.digest("SHA-256", content)) : sha256(content));
}
