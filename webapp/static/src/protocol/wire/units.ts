/**
 * The messages between a task's server and its work-unit clients. backend/wire/UNITS.md is the specification;
 * units.py beside it defines the same in Python types.
 */

import { encode } from "@msgpack/msgpack";
import {
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
  metrics,
  reader,
  reason,
  SERVER,
  shard,
  sums,
  token,
  word,
} from "./messages";

export const UNITS_PROTOCOL = "minga-units.1";
/** The largest number of units that a client holds. */
export const MOST_SLOTS = 64;
/** The largest number of cached shards that a client reports. */
export const MOST_HELD = 64;
/** The largest number of a result's checkpoints, as in core/numerics/checkpoints.ts. */
const MOST_CHECKPOINTS = 16;
export const MAX_UNITS_FRAME = CHUNK_BYTES + 1024;

/** Why a client gives a unit back. */
const cause = oneOf("stopping", "paused", "preempted", "data", "memory", "failed");
export type Cause = Checked<typeof cause>;

/** The units of an epoch: all, assimilated, leased, and with results that wait for comparison. */
const tally = record({ units: count, done: count, leased: count, compared: count });

const TO_SERVER = {
  /** First frame of a connection. `shards` are those that the client has in its cache, the newest last. */
  enlist: { token, kind, backend: word, agent: text({ max: 64 }), shards: list(hash, MOST_HELD) },
  ready: CLIENT.ready,
  /** After `ready`: from now on this client takes up to `slots` units at a time; 0 if it takes none. */
  want: { slots: whole(0, MOST_SLOTS) },
  /** This client still works on `lease`, and has taken `steps` steps of it. */
  beat: { lease: count, steps: count },
  /**
   * The result of `lease` follows in chunks (whose `round` is the lease) once credit is granted: the change from the
   * unit's weights, float32, `size` bytes. `steps` is less than the unit's if the client had to stop early. A client
   * that told a program commits to the vector (core/crypto/result-commitment.ts), and tells the SHA-256 of its weights
   * after some steps (core/numerics/checkpoints.ts).
   */
  result: {
    lease: count,
    examples: count,
    steps: count,
    loss: real,
    sums,
    size: count,
    commitment: nullable(hash),
    checkpoints: list(hash, MOST_CHECKPOINTS),
  },
  /** Answer to `open`: the salt (32 bytes in hexadecimal) of the commitment to the result of `lease`. */
  salt: { lease: count, salt: hash },
  chunk: CLIENT.chunk,
  /** This client gives `lease` back without a result. */
  release: { lease: count, cause },
  leave: CLIENT.leave,
} as const;

const TO_CLIENT = {
  /** Answer to `enlist`. `client` is the public id (16 hexadecimal digits), `bundle` the address of bundle.json. */
  enlisted: { task: text(), client: text(), bundle: hash, chunk_bytes: whole() },
  /**
   * Train on rows `first` to `first + examples` of `shard` from `weights`, within `seconds`. `base` counts the
   * results that are in the weights; the plan is as in `train`. The client sends `beat` every `heartbeat` seconds.
   */
  unit: {
    lease: count,
    unit: count,
    epoch: count,
    shard,
    first: count,
    examples: count,
    base: count,
    weights: hash,
    epochs: count,
    steps: count,
    batch_size: count,
    learning_rate: real,
    past_steps: count,
    seed: count,
    proximal_mu: real,
    /**
     * The weights that training begins with: those given, the client's own last ones, or these pulled towards the
     * given ones by `elasticity`.
     */
    start: oneOf("given", "own", "elastic"),
    elasticity: real,
    seconds: real,
    heartbeat: real,
  },
  /** `lease` is valid for `seconds` from now. */
  renewed: { lease: count, seconds: real },
  /** `lease` is no longer needed. A result that arrives later is still checked. */
  drop: { lease: count, reason },
  credit: SERVER.credit,
  /**
   * Send the salt of the result of `lease`: the vector is here, or another client's that may equal it. An equal one
   * needs no upload; `credit` follows where the salt shows that it differs.
   */
  open: { lease: count },
  /** The result of `lease` has arrived. If it `waits`, it is compared with other results before it counts. */
  taken: { lease: count, waits: truth },
  /** The result of `lease` is valid: its `examples` are credited. `blended`: it is the one in the model. */
  counted: { lease: count, examples: count, blended: truth },
  /** The result of `lease` does not count. */
  rejected: { lease: count, code: word, reason },
  /** There is no unit for this client now, for this cause. The server sends one as soon as there is. */
  idle: { cause: oneOf("nothing", "quota", "reliable", "bound", "released", "over", "paused") },
  /** The server's assessment of this client; only this client receives it. */
  standing: { credited: count, units: count, checked: count, trusted: truth, quota: count },
  /** The current state, for all clients. `loss` and `metrics` are of the weights with `measured` results in them. */
  board: {
    phase: oneOf("waiting", "training", "paused", "finished"),
    epoch: count,
    epochs: count,
    tally,
    base: count,
    backlog: count,
    browsers: count,
    peers: count,
    measured: count,
    loss: nullable(real),
    metrics,
  },
  closing: SERVER.closing,
} as const;

export type UnitsToServer = MessageOf<typeof TO_SERVER>;
export type ServerToUnits = MessageOf<typeof TO_CLIENT>;
export type UnitsFrameOf<Tag extends (UnitsToServer | ServerToUnits)["type"]> = Extract<
  UnitsToServer | ServerToUnits,
  { readonly type: Tag }
>;

/** Encodes a message of either direction as a frame. */
export function encodeUnits(message: UnitsToServer | ServerToUnits): Uint8Array<ArrayBuffer> {
  return encode(message);
}

/** Decodes a client's message. Throws FrameError on anything else. */
export const decodeUnits: (frame: Uint8Array) => UnitsToServer = reader(TO_SERVER, MAX_UNITS_FRAME);

/** Decodes a message of the server. Throws FrameError on anything else. */
export const decodeToUnits: (frame: Uint8Array) => ServerToUnits = reader(TO_CLIENT, MAX_SERVER_FRAME);
