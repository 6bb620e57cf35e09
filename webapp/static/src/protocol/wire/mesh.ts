/**
 * The messages between a mesh's server and its peers, and among the peers. backend/wire/MESH.md is the specification;
 * mesh.py and peering.py beside it define the same in Python types.
 */

import { encode } from "@msgpack/msgpack";
import {
  bytes,
  bytesOf,
  type Checked,
  list,
  type MessageOf,
  nullable,
  oneOf,
  real,
  record,
  text,
  truth,
  whole,
} from "./fields";
import {
  CHUNK_BYTES,
  CLIENT,
  count,
  hash,
  kind,
  MAX_SERVER_FRAME,
  reader,
  reason,
  SERVER,
  sums,
  token,
  word,
} from "./messages";

export const MESH_PROTOCOL = "minga-mesh.1";
export const MOST_IN_GROUP = 32;
export const MOST_IN_MESH = 1024;
/** Earlier certificates that prove a peer's newest one. */
export const MOST_IN_CHAIN = 32;
export const MAX_TO_SERVER = (1 << 17) + 1024;
export const MAX_PEER_FRAME = CHUNK_BYTES + 1024;

const client = text({ min: 16, max: 16, pattern: /^[0-9a-f]+$/ });
const key = bytesOf(32);
const signature = bytesOf(64);
const way = oneOf("webrtc", "websocket", "relay");
const ways = list(way, 3, 1);
const address = text({
  max: 200,
  pattern: /^wss?:\/\/([0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?\/?$/,
});
const place = whole(0, MOST_IN_GROUP - 1);
const places = list(place, MOST_IN_GROUP);
/** SHA-256 digests by part. */
const digests = list(bytesOf(32), MOST_IN_GROUP);
/** Digests by part; empty if a member has no such part. */
const holders = list(bytesOf(0, 32), MOST_IN_GROUP);
/** A public key of X25519; empty if nothing is masked. */
const groupKey = bytesOf(0, 32);
/** View and step. */
const ballot = list(count, 2, 2);
/** The fault of a member: unreachable, too slow, or sending unusable data. */
const fault = oneOf("gone", "slow", "unfit");
const memberWeights = list(real, MOST_IN_GROUP);
const note = bytesOf(1, 16 * 1024);
const parcel = bytesOf(1, 64 * 1024);

export type Way = Checked<typeof way>;

const measure = record({ client, way, seconds: real, rate: real });
export type PushSumMeasure = Checked<typeof measure>;

/** The signature of the peer `client`, whose key is `identity`. */
const signed = record({ client, identity: key, signature });

/** More than half of the group's `survivors` (sorted ids) signed that they made `weights` in `round` of the `run`. */
const certificate = record({
  bundle: hash,
  run: hash,
  round: count,
  group: count,
  weights: hash,
  survivors: list(client, MOST_IN_GROUP, 1),
  signatures: list(signed, MOST_IN_GROUP, 1),
});
export type Certificate = Checked<typeof certificate>;
/** Earlier certificates, oldest first, by which a later one follows from a group that the server formed. */
const chain = list(certificate, MOST_IN_CHAIN);

/** The outer step of DiLoCo, by each peer; `momentum` is 0 for fedavg. */
const outer = record({ kind: oneOf("fedavg", "fedavgm", "nesterov"), learning_rate: real, momentum: real });
export type Outer = Checked<typeof outer>;

const iceServer = record({ urls: list(text(), 8, 1), username: text(), credential: text() });

/** A peer of the mesh as all others may see it; `holds` are its newest weights. */
const neighbour = record({
  client,
  identity: key,
  kind,
  backend: text(),
  ways,
  address: nullable(address),
  round: count,
  holds: nullable(hash),
});
export type NeighbourInfo = Checked<typeof neighbour>;

const TO_SERVER = {
  /**
   * First frame of a connection. `holds` is the SHA-256 of the weights that the peer has from an earlier session, of
   * `round`; `certificate` shows that a group made them, with the earlier ones of `chain`.
   */
  enter: {
    token,
    kind,
    backend: word,
    agent: text({ max: 64 }),
    identity: key,
    ways,
    address: nullable(address),
    round: count,
    holds: nullable(hash),
    certificate: nullable(certificate),
    chain,
  },
  ready: CLIENT.ready,
  /** The local steps of `round` are done, from the weights `base`: the peer wants to join a group. */
  trained: { round: count, base: hash, examples: count, steps: count, loss: real, sums },
  /**
   * The peer's group ended with the weights `weights`; `survivors` are the places of the members that have the same.
   */
  averaged: {
    round: count,
    group: count,
    weights: hash,
    survivors: places,
    fraction: real,
    seconds: real,
    signature,
  },
  /** The weights of a group that this server did not see end; `chain` is as in `enter`. */
  certified: { certificate, chain },
  /** The peer's group has no result for it; the peer keeps the weights that it had trained. */
  failed: { round: count, group: count, reason },
  evaluation: CLIENT.evaluation,
  /** The current links of this peer, after a change and every ten seconds. */
  links: { links: list(measure, MOST_IN_MESH) },
  /** For the peer `client`: a signal that two peers need to make a link. */
  signal: { client, data: note },
  /** For the peer `client`, if no link could be made: data sealed for it. */
  relay: { client, data: parcel },
  leave: CLIENT.leave,
} as const;

const TO_PEER = {
  /**
   * Answer to `enter`: the newest weights that the server recorded, and the step that each peer takes before
   * averaging. `run` names the run of the task; a task that begins anew has another one.
   */
  entered: {
    task: text(),
    client,
    bundle: hash,
    run: hash,
    round: count,
    version: count,
    weights: hash,
    outer,
    ice: list(iceServer, 8),
  },
  /** The connected peers, this one included; `epoch` counts the changes. */
  members: { epoch: count, members: list(neighbour, MOST_IN_MESH) },
  train: SERVER.train,
  /**
   * Average with these members within `seconds`: part i is the values from `bounds[i]` to `bounds[i + 1]` and belongs
   * to the member at place i; with the exchange `full` there is one part, which every member reduces.
   * A result needs `least` survivors, who all sign it; groups that follow without the server need `quorum`.
   */
  group: {
    round: count,
    group: count,
    members: list(client, MOST_IN_GROUP, 2),
    bounds: list(count, MOST_IN_GROUP + 1, 2),
    exchange: oneOf("full", "butterfly", "ring"),
    precision: oneOf("float32", "float16", "int8", "masked"),
    subject: oneOf("changes", "weights"),
    reducer: oneOf("mean", "trimmed_mean", "centered_clip"),
    least: whole(2, MOST_IN_GROUP),
    most_weight: real,
    patience: real,
    seconds: real,
    quorum: whole(1, MOST_IN_GROUP),
  },
  /** Send the server these weights of `round`. */
  deposit: { round: count, weights: hash },
  evaluate: SERVER.evaluate,
  /** From the peer `client`: a signal that two peers need to make a link. */
  signalled: { client, data: note },
  /** From the peer `client`, sealed for this one. */
  relayed: { client, data: parcel },
  /** The peer `client` is not connected: data for it is lost. */
  unreachable: { client },
  state: SERVER.state,
  version: SERVER.version,
  evaluated: SERVER.evaluated,
  abandoned: SERVER.abandoned,
  closing: SERVER.closing,
} as const;

const of = { round: count, group: count } as const;

const PEER = {
  /** A heartbeat. `sent` is the sender's clock, `echo` the last `sent` that it received, `since` seconds ago. */
  beat: { sent: real, echo: real, since: real },
  /** Forward this signal to the peer `client`. */
  pass: { client, data: note },
  /** A signal of the peer `client`, forwarded by the sender. */
  passed: { client, data: note },
  /** Request for the weights whose SHA-256 is `weights`, from byte `offset` on. */
  fetch: { weights: hash, offset: count },
  /** A chunk of the weights, of `size` bytes in all; 0 if the sender does not have them. */
  weights: { weights: hash, size: count, offset: count, data: bytes },
  /**
   * To all survivors of the sender's certified `weights`: its server is away, and it offers to continue from them.
   * `round` is the newest that it knows of, `steward` whether it can lead, `measures` whether it has held-out
   * examples.
   */
  unattended: { round: count, weights: hash, steward: truth, measures: truth },
  /** From the leader: train `round` from `weights`; the peer `measures` evaluates them first. */
  set_out: { round: count, weights: hash, measures: nullable(client) },
  /** The sender has the server. */
  attended: {},
  trained: TO_SERVER.trained,
  group: TO_PEER.group,
  evaluation: CLIENT.evaluation,
  /**
   * To all: the sender's weight in the mean, and the SHA-256 of each of its encoded parts. If pieces are masked it
   * commits to none, and `key` is its X25519 key of this group.
   */
  begin: { ...of, weight: real, commitments: digests, key: groupKey },
  /**
   * The sender's own part, for its owner; in a ring the sum of `contributors` so far, the sender last. A masked piece
   * is for the sum over `contributors`, which are in ascending order and include the sender.
   */
  piece: { ...of, part: place, contributors: places, offset: count, data: bytes },
  /** The mean of the pieces that `contributors` sent of `part`. */
  mean: { ...of, part: place, contributors: places, offset: count, data: bytes },
  /**
   * To the leader of `view`: digests of the means that the sender has, by part, since (view, step) `held`; (0, 0)
   * means that it never had all of a step. `weights` are all members' as the sender knows them; 0 if unknown.
   */
  holds: { ...of, view: count, step: count, held: ballot, parts: holders, weights: memberWeights },
  /** To the leader: the member at `place` sends nothing usable. */
  complain: { ...of, place, fault, reason },
  /**
   * From the leader of `view`: a member is gone. Report the means that you hold, and take part in no earlier step.
   */
  ask: { ...of, view: count, step: count },
  /** From the leader of `view`: at `step`, these members remain and own the parts; `parts` are the existing means. */
  config: {
    ...of,
    view: count,
    step: count,
    alive: places,
    owners: places,
    parts: holders,
    weights: memberWeights,
  },
  /** From the leader: send your mean of `part` to these members. */
  give: { ...of, view: count, step: count, part: place, places },
  /** To all: the leader is silent; `view` has the next one. The other fields are as in `holds`. */
  change: { ...of, view: count, held: ballot, parts: holders, weights: memberWeights },
  /**
   * The result: the members that have it, the means by part, their contributors, all members' weights (0: unknown).
   */
  decide: {
    ...of,
    view: count,
    step: count,
    survivors: places,
    parts: digests,
    contributors: list(places, MOST_IN_GROUP),
    weights: memberWeights,
  },
  /** There is no result; `reason` is for people. */
  give_up: { ...of, view: count, reason },
  /** To all survivors: the sender's weights after the round, and its signature (0025, "Certificates"). */
  attest: { ...of, weights: hash, signature },
} as const;

export type PeerToServer = MessageOf<typeof TO_SERVER>;
export type ServerToPeer = MessageOf<typeof TO_PEER>;
export type PeerFrame = MessageOf<typeof PEER>;
/** Frames of rounds without the server: docs/decisions/0033-without-a-server.md. */
export type ServerlessFrame = Extract<
  PeerFrame,
  { readonly type: "unattended" | "set_out" | "attended" | "trained" | "group" | "evaluation" }
>;
export type GroupFrame = Exclude<
  PeerFrame,
  ServerlessFrame | { readonly type: "beat" | "pass" | "passed" | "fetch" | "weights" }
>;
type AnyMeshFrame = PeerToServer | ServerToPeer | PeerFrame;
export type GroupOrder = Extract<ServerToPeer, { readonly type: "group" }>;

/** Encodes a message of any direction as a frame. */
export function encodeMesh(message: AnyMeshFrame): Uint8Array<ArrayBuffer> {
  return encode(message);
}

/** Decodes a peer's message to its server. Throws FrameError on anything else. */
export const decodeToServer: (frame: Uint8Array) => PeerToServer = reader(TO_SERVER, MAX_TO_SERVER);

/** Decodes a message of a mesh's server. Throws FrameError on anything else. */
export const decodeToPeer: (frame: Uint8Array) => ServerToPeer = reader(TO_PEER, MAX_SERVER_FRAME);

/** Decodes a message of another peer. Throws FrameError on anything else. */
export const decodePeer: (frame: Uint8Array) => PeerFrame = reader(PEER, MAX_PEER_FRAME);
