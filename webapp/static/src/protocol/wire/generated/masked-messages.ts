// Written by `python -m scripts.wire_types.command` from backend/wire.

import * as fields from "../fields";
import { count } from "./fields";

export const aggregation = fields.oneOf("open", "masked");
export const server = fields.oneOf("honest", "active");
export const key = fields.bytesOf(32);
export const signature = fields.bytesOf(64);
export const sealed = fields.bytesOf(1, 256);
export const MOST_MEMBERS = 2048;
export const members = fields.list(fields.whole(0, 2047), 2048);

/**
 * The parameters of secure aggregation in a round; every value is part of the round's context.
 *
 * Sums are modulo 2^`bits`. An update is clipped to the L2 norm `clip` and has the weight its examples / `examples`, at
 * most 1. `noise` is the standard deviation of the sum of all clients' noise shares, as a multiple of `clip`; 0 means no
 * noise. All clients send the same fraction `share` of the parameters. No client takes part with fewer than
 * `min_clients`.
 */
export const masking = fields.record({
  bits: fields.whole(16, 32),
  clip: fields.real,
  examples: fields.whole(1),
  noise: fields.real,
  share: fields.portion,
  min_clients: fields.whole(3, 2048),
  server,
});

/**
 * What a masked task promises of every round.
 *
 * Updates are clipped to the L2 norm `clip`, and no sum is of fewer than `min_clients` of them. Against an `active`
 * server members sign and verify.
 */
export const aggregationTerms = fields.record({
  clip: fields.real,
  min_clients: fields.whole(3, 2048),
  server,
});

/**
 * Advertises this round's X25519 public keys, for masks and for sealing shares, signed by the identity.
 *
 * `seed_hash` is the SHA-256 of the self mask's seed, by which a recovered seed is verified.
 */
export const keys = {
  round: count,
  mask_key: key,
  share_key: key,
  seed_hash: key,
  identity: key,
  signature,
} as const;

/** Sends sealed shares of this client's two secrets, one for each neighbour, in the order of places. */
export const shares = { round: count, sealed: fields.list(sealed, 2048) } as const;

/** The client's signature over the survivors that the server named, for the consistency check. */
export const consistencySignature = { round: count, signature } as const;

/**
 * Reveals the shares that `unmask` requests: one of each sender of `dealt` and its own, by place.
 *
 * A sender's share is revealed as the key that opens its seal, the own one in the clear.
 */
export const reveal = { round: count, shares: fields.list(key, 2048) } as const;

/**
 * The client leaves this round. The others continue without waiting for it.
 *
 * `spent` says that it revealed shares for the version before, which the server knows; other reasons stay with the
 * client.
 */
export const decline = { round: count, spent: fields.truth } as const;

/** A client's keys of a masked round, as it sent them. */
export const member = fields.record({
  client: fields.text(),
  mask_key: key,
  share_key: key,
  seed_hash: key,
  identity: key,
  signature,
});

/** The clients whose updates of `round` are added up; a member's index is its place. */
export const roster = { round: count, members: fields.list(member, 2048) } as const;

/** Delivers the shares for this client with their senders' places; other neighbours sent none. */
export const dealt = { round: count, senders: members, sealed: fields.list(sealed, 2048) } as const;

/** Names the survivors, whose updates arrived, by place; clients sign the list before they reveal. */
export const survivors = { round: count, alive: members } as const;

/** Requests the shares that the sum of `alive` needs; `signatures` are the `vouchers`' over that list. */
export const unmask = {
  round: count,
  alive: members,
  vouchers: members,
  signatures: fields.list(signature, 2048),
} as const;
