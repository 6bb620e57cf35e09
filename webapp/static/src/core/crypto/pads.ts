/**
 * Pads that mask pieces in a group of a mesh: two members share a pad for each part and each set. The member at the
 * lower place adds it and the other subtracts it (Bonawitz et al. 2017, section 4), so that pads cancel in the sum
 * over exactly this set. The twin is backend/crypto/pads.py; docs/decisions/0032-masks-in-a-group.md has the rules.
 */

import { type Bytes, concat, fields, fromHex, integer, utf8 } from "./bytes";
import { hkdf } from "./derive";
import type { KeyPair } from "./keys";
import type { Mask } from "./keystream";

/** The group that pads are for; `bundle` is the SHA-256 of the task's bundle in hexadecimal. */
export interface PadContext {
  readonly task: string;
  readonly bundle: string;
  readonly round: number;
  readonly group: number;
}

/**
 * Returns the common key, 32 bytes, of the members at places `own` and `other`, from the own key pair of this group
 * and the public key of `other`; null if that is no valid key.
 */
export async function commonKey(
  keys: KeyPair,
  publicKey: Uint8Array,
  own: number,
  other: number,
  { task, bundle, round, group }: PadContext,
): Promise<Bytes | null> {
  const agreed = await keys.agree(publicKey);
  if (agreed === null) return null;
  const salt = concat(own < other ? [keys.publicKey, publicKey] : [publicKey, keys.publicKey]);
  const bound = fields(
    utf8("minga/mesh/1/mask"),
    utf8(task),
    fromHex(bundle),
    integer(round),
    integer(group),
  );
  return hkdf(agreed, salt, bound);
}

/**
 * Returns keys and signs of the keystreams that `own` adds to its words of `part` for the set `members`, whose places
 * are in ascending order. `common` has the common keys, by place, of all of them but `own`. Throws an Error if one is
 * missing.
 */
export function pads(
  own: number,
  common: ReadonlyMap<number, Bytes>,
  part: number,
  members: readonly number[],
): Promise<Mask[]> {
  const count = Uint8Array.of(members.length);
  const bound = fields(
    utf8("minga/mesh/1/pad"),
    Uint8Array.of(part & 0xff, part >> 8),
    count,
    Uint8Array.from(members),
  );
  const others = members.filter((place) => place !== own);
  return Promise.all(
    others.map(async (other): Promise<Mask> => {
      const secret = common.get(other);
      if (secret === undefined) throw new Error(`There is no key for the member at place ${other}.`);
      return { key: await hkdf(secret, new Uint8Array(), bound), sign: own < other ? 1 : -1 };
    }),
  );
}
