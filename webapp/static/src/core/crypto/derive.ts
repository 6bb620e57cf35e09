/** Derives keys from secrets by HKDF with SHA-256 (RFC 5869), each bound to its round's context and its purpose. */

import { type Bytes, fields, places, sha256, utf8 } from "./bytes";

/** Returns `length` bytes derived from `secret`. */
export async function hkdf(secret: Bytes, salt: Bytes, info: Bytes, length = 32): Promise<Bytes> {
  const key = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const algorithm = { name: "HKDF", hash: "SHA-256", salt, info };
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, 8 * length));
}

/** The keys of two sealed shares: of a seed, and of a mask key. */
export type SealingKeys = readonly [seed: Bytes, maskKey: Bytes];

/**
 * Returns the keys by which the client at place `from` seals its shares for the one at `to`, from the agreement of
 * their share keys. The receiver reveals one of both at the end of the round.
 */
export async function sealingKeys(
  agreed: Bytes,
  context: Bytes,
  from: number,
  to: number,
): Promise<SealingKeys> {
  const info = fields(utf8("minga/masked/2/share"), places(from), places(to));
  const keys = await hkdf(agreed, context, info, 64);
  return [keys.slice(0, 32), keys.slice(32)];
}

/** Returns the key of the mask between the clients at places `a` and `b`, from the agreement of their mask keys. */
export function pairKey(agreed: Bytes, context: Bytes, a: number, b: number): Promise<Bytes> {
  return hkdf(agreed, context, purpose("pair", Math.min(a, b), Math.max(a, b)));
}

/** Returns the key of the own mask of the client at `place`, from its seed. */
export function ownKey(seed: Bytes, context: Bytes, place: number): Promise<Bytes> {
  return hkdf(seed, context, purpose("self", place));
}

/** Returns the key of the signs that rotate a round's updates; all its clients and the server know it. */
export function rotationKey(context: Bytes): Promise<Bytes> {
  return sha256(fields(utf8("minga/masked/1/rotation"), context));
}

/** Returns the key of the words that choose which values of a round's updates are sent; it is equally public. */
export function choiceKey(context: Bytes): Promise<Bytes> {
  return sha256(fields(utf8("minga/masked/1/choice"), context));
}

/** Encodes the purpose of a key, and the places that share it. */
function purpose(name: "pair" | "self", ...between: readonly number[]): Bytes {
  return fields(utf8(`minga/masked/1/${name}`), ...between.map((place) => places(place)));
}
