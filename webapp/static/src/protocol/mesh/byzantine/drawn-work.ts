/**
 * What the coin of a round draws: numbers, orders, who validates, and whose work. Pure functions of what all members
 * agreed on; coins are hexadecimal. The twin is backend/protocols/mesh/byzantine/drawn_work.py.
 */

import { type Bytes, fields, fromHex, integer, utf8 } from "../../../core/crypto/bytes";
import { hash, hashFields } from "../../../core/crypto/hash";

/** Returns a number below `limit`, at most 2^31, that the coin draws for one client and purpose. */
export function drawnNumber(coin: string, purpose: string, client: string, limit: number): number {
  return (
    topBits(hash(fields(utf8("minga/mesh/1/drawn"), fromHex(coin), utf8(purpose), utf8(client)))) % limit
  );
}

/** Returns the clients in an order that nobody could choose. */
export function drawnOrder(coin: string, purpose: string, clients: Iterable<string>): readonly string[] {
  const rank = (client: string) =>
    hashFields(utf8("minga/mesh/1/order"), fromHex(coin), utf8(purpose), utf8(client));
  const ranked = [...clients].map((client) => [rank(client), client] as const);
  return ranked.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, client]) => client);
}

/**
 * Returns the target of each validator: `count` of the `judges`, or as many as leave a target each. The `unable` judge
 * nobody, and are targets like all.
 */
export function validations(
  coin: string,
  judges: readonly string[],
  targets: readonly string[],
  count: number,
  unable: ReadonlySet<string> = new Set(),
): Map<string, string> {
  const able = drawnOrder(coin, "validate", judges).filter((one) => !unable.has(one));
  const order = able.slice(0, Math.min(count, judges.length >> 1));
  const drawn = drawnOrder(coin, "target", targets).filter((one) => !order.includes(one));
  return new Map(
    order.flatMap((judge, i) => {
      const target = drawn[i];
      return target === undefined ? [] : [[judge, target] as const];
    }),
  );
}

/** Returns the seed below 2^52 of the random vectors that means are checked with. */
export function coinSeed(coin: string): number {
  return topBits(hash(fields(utf8("minga/mesh/1/projection"), fromHex(coin), integer(0))));
}

/** Returns the top 52 bits, as a whole number. */
function topBits(digest: Bytes): number {
  const high = digest.subarray(0, 6).reduce((number, byte) => number * 256 + byte, 0);
  return high * 16 + ((digest[6] as number) >> 4);
}
