/**
 * The additional messages of masked rounds; docs/reference/masked-rounds.md has the protocol.
 *
 * Clients have places in a round's roster, from 0 on; lists of places are in ascending order.
 */

import { bytesOf, list, oneOf, portion, real, record, text, truth, whole } from "./fields";

/** The largest roster: it fits into a frame twice. */
export const MOST_MEMBERS = 2048;

export const aggregation = oneOf("open", "masked");

const round = whole(0);
const key = bytesOf(32);
const signature = bytesOf(64);
/** A client's secrets for one neighbour. */
const sealed = list(bytesOf(1, 256), MOST_MEMBERS);
const places = list(whole(0, MOST_MEMBERS - 1), MOST_MEMBERS);

/**
 * How a masked round adds up updates; every value is part of the round's context. Sums are modulo 2^`bits`. An update
 * is clipped to the L2 norm `clip` and weighs its examples / `examples`, at most 1. `noise` is the standard
 * deviation, as a multiple of `clip`, of the sum of all clients' noise shares. All clients send the same share
 * `share` of the parameters. A round has at least `min_clients` clients.
 */
export const masking = record({
  bits: whole(16, 32),
  clip: real,
  examples: whole(1),
  noise: real,
  share: portion,
  min_clients: whole(3, MOST_MEMBERS),
  server: oneOf("honest", "active"),
});

/**
 * What a masked task promises of every round: updates are clipped to the L2 norm `clip`, and no sum is of fewer than
 * `min_clients` of them. Against an `active` server members sign and verify.
 */
export const aggregationTerms = record({
  clip: real,
  min_clients: whole(3, MOST_MEMBERS),
  server: oneOf("honest", "active"),
});

/** A client's keys of a masked round, as it sent them. */
const member = record({
  client: text(),
  mask_key: key,
  share_key: key,
  seed_hash: key,
  identity: key,
  signature,
});

export const MASKED_CLIENT = {
  /**
   * This round's X25519 public keys, for masks and for sealing shares, signed by the client's identity. `seed_hash`
   * is the SHA-256 of the seed of the client's own mask, by which a recovered seed is verified.
   */
  keys: { round, mask_key: key, share_key: key, seed_hash: key, identity: key, signature },
  /** Sealed shares of this client's two secrets, one for each neighbour, by their places. */
  shares: { round, sealed },
  /** The client's signature over the survivors that the server named. */
  vouch: { round, signature },
  /**
   * The shares that `unmask` asked for: one of each neighbour that exchanged shares and of this client, by their
   * places.
   */
  reveal: { round, shares: list(key, MOST_MEMBERS) },
  /**
   * The client takes no further part in this round. The others continue immediately. `spent` says that it revealed
   * shares for the version before, which the server knows; other reasons stay with the client.
   */
  decline: { round, spent: truth },
} as const;

export const MASKED_SERVER = {
  /** The clients whose updates are added up together; a client's index in the list is its place. */
  roster: { round, members: list(member, MOST_MEMBERS) },
  /** The shares for this client, with the places of the neighbours that sent them. The other neighbours sent none. */
  dealt: { round, senders: places, sealed },
  /** The clients whose updates arrived: to be signed before any share is revealed. */
  survivors: { round, alive: places },
  /**
   * Reveal the shares that the sum of the updates of `alive` needs. `signatures` are those of `vouchers` over that
   * list.
   */
  unmask: { round, alive: places, vouchers: places, signatures: list(signature, MOST_MEMBERS) },
} as const;
