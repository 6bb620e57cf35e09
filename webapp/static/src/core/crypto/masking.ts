/**
 * The masks of one client: its own mask, which the survivors' shares remove, and one with each neighbour, which
 * cancel in pairs.
 */

import type { Bytes } from "./bytes";
import { ownKey, pairKey } from "./derive";
import type { KeyPair } from "./keys";
import type { Mask } from "./keystream";

/**
 * Returns keys and signs of the keystreams that the client at place `owner` adds to its values. `neighbours` are the
 * public mask keys, by place, of the neighbours that sent it shares. Throws an Error if a key agreement is
 * impossible.
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
