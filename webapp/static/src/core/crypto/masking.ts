/** The masks of one client: its own, which survivors take off, and one with each neighbour, which cancel. */

import type { Bytes } from "./bytes";
import { ownKey, pairKey } from "./derive";
import type { KeyPair } from "./keys";
import type { Mask } from "./keystream";

/**
 * Keys and signs of the keystreams that the client at place `owner` adds to its values. `neighbours` are the public mask
 * keys, by place, of those whose shares were dealt to it. Throws an Error where nobody can agree with one of them.
 */
export function masksOf(
  context: Bytes,
  owner: number,
  seed: Bytes,
  maskKeys: KeyPair,
  neighbours: ReadonlyMap<number, Uint8Array>,
): Promise<Mask[]> {
  const own = async (): Promise<Mask> => ({ key: await ownKey(seed, context, owner), sign: 1 });
  const pairs = [...neighbours].map(async ([other, publicKey]): Promise<Mask> => {
    const agreed = await maskKeys.agree(publicKey);
    if (agreed === null) throw new Error("A client's mask key is none that one can agree with.");
    return { key: await pairKey(agreed, context, owner, other), sign: other > owner ? 1 : -1 };
  });
  return Promise.all([own(), ...pairs]);
}
