/** Shares of secrets on their way from one client to another: AES-256-GCM (NIST SP 800-38D). */

import { type Bytes, fields, places } from "./bytes";

/** Each key seals one message, so the nonce need not differ. */
const NONCE = new Uint8Array(12);

/** A message from the client at place `from` to the one at `to`; 16 bytes longer than `plain`. */
export async function seal(
  key: Bytes,
  context: Uint8Array,
  from: number,
  to: number,
  plain: Bytes,
): Promise<Bytes> {
  const cipher = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  return new Uint8Array(await crypto.subtle.encrypt(algorithm(context, from, to), cipher, plain));
}

/** What `seal` was given; null where this is not what it made. */
export async function unseal(
  key: Bytes,
  context: Uint8Array,
  from: number,
  to: number,
  sealed: Bytes,
): Promise<Bytes | null> {
  const cipher = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]);
  try {
    return new Uint8Array(await crypto.subtle.decrypt(algorithm(context, from, to), cipher, sealed));
  } catch (problem) {
    if (problem instanceof DOMException && problem.name === "OperationError") return null;
    throw problem;
  }
}

function algorithm(context: Uint8Array, from: number, to: number): AesGcmParams {
  return { name: "AES-GCM", iv: NONCE, additionalData: fields(context, places(from), places(to)) };
}
