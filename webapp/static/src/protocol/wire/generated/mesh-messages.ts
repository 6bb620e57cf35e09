// Written by `python -m scripts.wire_types.command` from backend/wire.

import * as fields from "../fields";
import { byzantineRules, tellState } from "./byzantine-messages";
import { count, hash, kind, sums, text, token, word } from "./fields";
import { key, signature } from "./masked-messages";
import {
  address,
  client,
  exchange,
  note,
  outer,
  parcel,
  places,
  precision,
  reducer,
  subject,
  way,
  ways,
} from "./mesh-fields";
import {
  abandoned,
  closing,
  evaluate,
  evaluated,
  evaluation,
  leave,
  ready,
  state,
  train,
  version,
} from "./messages";

/** The Ed25519 signature of the peer `client`, whose key is `identity`. */
export const signed = fields.record({ client, identity: key, signature });

/**
 * Certifies that the group's `survivors` (sorted ids) made `weights` in `round` of a task's `run`.
 *
 * More than half of them signed the statement that crypto/certificates.py builds and verifies.
 */
export const certificate = fields.record({
  bundle: hash,
  run: hash,
  round: count,
  group: count,
  weights: hash,
  survivors: fields.list(client, 32, 1),
  signatures: fields.list(signed, 32, 1),
});
export const chain = fields.list(certificate, 32);

/**
 * First frame of a connection. `token` is secret; the peer creates it once and keeps it.
 *
 * `identity` is its Ed25519 key, `ways` are the transports that reach it, `address` accepts WebSockets. `holds` is the
 * SHA-256 of the weights that it has from an earlier visit, made in `round`; `certificate` proves that a group made
 * them, with the earlier ones of `chain`.
 */
export const enter = {
  token,
  kind,
  backend: word,
  agent: fields.text({ max: 64 }),
  identity: key,
  ways,
  address: fields.nullable(address),
  round: count,
  holds: fields.nullable(hash),
  certificate: fields.nullable(certificate),
  chain,
} as const;

/** Certifies the weights of a group that this server did not see end; `chain` is as in `enter`. */
export const certified = { certificate, chain } as const;

/**
 * The peer finished its local steps of `round` from the weights `base`, and asks for a group.
 *
 * `examples` counts the processed examples (its weight in the mean), `loss` is their mean loss; `sums` are as in an
 * offer.
 */
export const trained = {
  round: count,
  base: hash,
  examples: count,
  steps: count,
  loss: fields.real,
  sums,
} as const;

/**
 * The peer's group ended with `weights`, which contain `fraction` of the members' total weight.
 *
 * `survivors` are the places of members with the same weights; `signature` is its part of the certificate
 * (docs/reference/mesh.md, "Certificates").
 */
export const averaged = {
  round: count,
  group: count,
  weights: hash,
  survivors: places,
  fraction: fields.real,
  seconds: fields.real,
  signature,
} as const;

/** The averaging failed for this peer, which keeps the weights that it trained. */
export const failed = { round: count, group: count, reason: text } as const;

/** A link as measured at one end: round-trip seconds, and bytes per second (0: unknown). */
export const measure = fields.record({ client, way, seconds: fields.real, rate: fields.real });

/** The current links of this peer, sent after a change and every ten seconds. */
export const links = { links: fields.list(measure, 1024) } as const;

/** A signal for the peer `client`, to set up a link. */
export const signalTo = { client, data: note } as const;

/** Sealed data for the peer `client`, relayed because no link could be made. */
export const relayTo = { client, data: parcel } as const;
export const peerToServer = {
  enter,
  ready,
  trained,
  averaged,
  certified,
  failed,
  evaluation,
  links,
  signal: signalTo,
  relay: relayTo,
  leave,
  tell_state: tellState,
} as const;

/** A STUN or TURN server, in the form that browsers accept. */
export const iceServer = fields.record({
  urls: fields.list(fields.text(), 8, 1),
  username: fields.text(),
  credential: fields.text(),
});

/**
 * Answer to `enter`: the peer's public id, the bundle, and the newest weights that the server recorded.
 *
 * `run` identifies the run of the task; rounds count from 0, and a restarted task gets a new run. `outer` is the step
 * that each peer makes before averaging (docs/reference/mesh.md, "What is averaged"). With `byzantine` the peers check
 * each other, and what they do follows from these rules.
 */
export const entered = {
  task: fields.text(),
  client,
  bundle: hash,
  run: hash,
  round: count,
  version: count,
  weights: hash,
  outer,
  ice: fields.list(iceServer, 8),
  byzantine: fields.nullable(byzantineRules),
} as const;

/** The public description of a peer of the mesh; `holds` are its newest weights. */
export const neighbour = fields.record({
  client,
  identity: key,
  kind,
  backend: fields.text(),
  ways,
  address: fields.nullable(address),
  round: count,
  holds: fields.nullable(hash),
});

/** The connected peers, the receiver included; `epoch` counts the changes. */
export const members = { epoch: count, members: fields.list(neighbour, 1024) } as const;

/**
 * Assigns the receiver to a group that averages within `seconds`; `members` are in order of places.
 *
 * Part i is the values from `bounds`[i] to `bounds`[i + 1] and belongs to the member at place i; with the exchange
 * `full` there is one part, which every member reduces. A result needs `least` survivors, who all sign it. No weight is
 * over `most_weight`. The group drops a member that is silent for `patience` seconds. Groups that follow without the
 * server need `quorum` survivors at least.
 */
export const group = {
  round: count,
  group: count,
  members: fields.list(client, 32, 2),
  bounds: fields.list(count, 33, 2),
  exchange,
  precision,
  subject,
  reducer,
  least: fields.whole(2, 32),
  most_weight: fields.real,
  patience: fields.real,
  seconds: fields.real,
  quorum: fields.whole(1, 32),
} as const;

/** Asks for an upload of these weights of `round`, by `PUT /api/tasks/{name}/weights/{sha256}`. */
export const deposit = { round: count, weights: hash } as const;

/** A signal from the peer `client`, to set up a link. */
export const signal = { client, data: note } as const;

/** Relayed data from the peer `client`, sealed for the receiver. */
export const relay = { client, data: parcel } as const;

/** The peer `client` is not connected: data for it were lost. */
export const unreachable = { client } as const;
export const serverToPeer = {
  entered,
  members,
  train,
  group,
  deposit,
  evaluate,
  signalled: signal,
  relayed: relay,
  unreachable,
  state,
  version,
  evaluated,
  abandoned,
  closing,
} as const;
