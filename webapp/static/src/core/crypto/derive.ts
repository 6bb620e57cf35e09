/** Keys from secrets by HKDF with SHA-256 (RFC 5869), each bound to its round's context and its purpose. */

import { type Bytes, fields, places, sha256, utf8 } from "./bytes";

/** `length` bytes derived from `secret`. */
export async function hkdf(secret: Bytes, salt: Bytes, info: Bytes, length = 32): Promise<Bytes> {
  const key = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const algorithm = { name: "HKDF", hash: "SHA-256", salt, info };
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, 8 * length));
}

/** The key of what the client at place `from` seals for the one at `to`, from the agreement of their share keys. */
export function sealingKey(agreed: Bytes, context: Bytes, from: number, to: number): Promise<Bytes> {
  return hkdf(agreed, context, purpose("share", from, to));
}

/** The key of the mask between the clients at places `a` and `b`, from the agreement of their mask keys. */
export function pairKey(agreed: Bytes, context: Bytes, a: number, b: number): Promise<Bytes> {
  return hkdf(agreed, context, purpose("pair", Math.min(a, b), Math.max(a, b)));
}

/** The key of the own mask of the client at `place`, from its seed. */
export function ownKey(seed: Bytes, context: Bytes, place: number): Promise<Bytes> {
  return hkdf(seed, context, purpose("self", place));
}

/** The key of the signs that a round's updates are rotated by, which all its clients and the server know. */
export function rotationKey(context: Bytes): Promise<Bytes> {
  return sha256(fields(utf8("minga/masked/1/rotation"), context));
}

/** The key of the words by which the values are chosen that a round's updates have; as public. */
export function choiceKey(context: Bytes): Promise<Bytes> {
  return sha256(fields(utf8("minga/masked/1/choice"), context));
}

/** What a key is for, and between which places. */
function purpose(name: "share" | "pair" | "self", ...between: readonly number[]): Bytes {
  return fields(utf8(`minga/masked/1/${name}`), ...between.map((place) => places(place)));
}
