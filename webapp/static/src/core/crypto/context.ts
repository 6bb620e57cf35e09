/**
 * The context that a masked round's keys are bound to; docs/reference/masked-rounds.md has every field. The twin
 * is backend/crypto/round_context.py; tests/contract/vectors/masked.json tests both.
 */

import type { Checked } from "../../protocol/wire/fields";
import type { masking } from "../../protocol/wire/generated/masked-messages";
import { type Bytes, compareBytes, fields, fromHex, integer, places, real, sha256, utf8 } from "./bytes";

/** The terms that a client knows of a round when it is asked to train. Hashes are hexadecimal. */
export interface MaskingTerms {
  readonly task: string;
  readonly bundle: string;
  readonly round: number;
  readonly version: number;
  readonly weights: string;
  readonly parameters: number;
  /** Rows of the bundle's metrics. */
  readonly rows: number;
  readonly masking: Checked<typeof masking>;
}

/** The public keys of one client of a round. */
export interface MemberKeys {
  readonly client: string;
  readonly mask_key: Uint8Array;
  readonly share_key: Uint8Array;
  readonly seed_hash: Uint8Array;
  readonly identity: Uint8Array;
}

/** Returns the hash of what is known before the roster. */
export function baseHash(terms: MaskingTerms): Promise<Bytes> {
  const { bits, clip, examples, noise, share, min_clients, server } = terms.masking;
  return sha256(
    fields(
      utf8("minga/masked/1/base"),
      utf8(terms.task),
      fromHex(terms.bundle),
      integer(terms.round),
      integer(terms.version),
      fromHex(terms.weights),
      integer(terms.parameters),
      integer(terms.rows),
      integer(bits),
      real(clip),
      integer(examples),
      real(noise),
      real(share),
      integer(min_clients),
      utf8(server),
    ),
  );
}

/** Returns the hash of `base` and all clients' keys, in the order of their places. */
export function rosterHash(base: Uint8Array, members: readonly MemberKeys[]): Promise<Bytes> {
  const keys = members.flatMap(({ client, mask_key, share_key, seed_hash, identity }) => [
    utf8(client),
    mask_key,
    share_key,
    seed_hash,
    identity,
  ]);
  return sha256(fields(utf8("minga/masked/1/roster"), base, ...keys));
}

/** Returns the round's context: a hash of terms, roster, and the graph of `members` with `degree` neighbours each. */
export function contextHash(
  base: Uint8Array,
  roster: Uint8Array,
  members: number,
  degree: number,
  threshold: number,
): Promise<Bytes> {
  const graph = [members, degree, threshold].map(integer);
  return sha256(fields(utf8("minga/masked/1/context"), base, roster, ...graph));
}

/** Returns the statement that a client signs when it sends its keys. */
export function keysStatement(
  base: Uint8Array,
  { client, mask_key, share_key, seed_hash }: Omit<MemberKeys, "identity">,
): Bytes {
  return fields(utf8("minga/masked/1/keys"), base, utf8(client), mask_key, share_key, seed_hash);
}

/** Returns the statement that a client signs about the survivors, whose places are in ascending order. */
export function survivorsStatement(context: Uint8Array, alive: readonly number[]): Bytes {
  return fields(utf8("minga/masked/1/survivors"), context, places(...alive));
}

/** Returns the places of `clients` in the order of the ring: no client can choose its neighbours. */
export async function ring(context: Uint8Array, clients: readonly string[]): Promise<readonly number[]> {
  const hashes = await Promise.all(
    clients.map((client) => sha256(fields(utf8("minga/masked/1/ring"), context, utf8(client)))),
  );
  const at = (place: number): Uint8Array => hashes[place] as Bytes;
  return clients.map((_, place) => place).sort((a, b) => compareBytes(at(a), at(b)));
}
