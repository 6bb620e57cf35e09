/** Seals shares of secrets that one client sends to another: AES-256-GCM (NIST SP 800-38D). */

import { type Bytes, fields, places } from "./bytes";

/** Each key seals only one message, so the nonce can be constant. */
const NONCE = new Uint8Array(12);

/** Seals a message from the client at place `from` to the one at `to`; the result is 16 bytes longer than `plain`. */
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

/** Opens the result of `seal`; returns null for anything else. */
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
