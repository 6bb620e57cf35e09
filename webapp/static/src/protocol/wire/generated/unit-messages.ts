// Written by `python -m scripts.wire_types.command` from backend/wire.

import * as fields from "../fields";
import { count, hash, kind, metrics, sums, text, token, word } from "./fields";
import { chunk, closing, credit, leave, ready, shard } from "./messages";

export const UNITS_PROTOCOL = "minga-units.1";
export const MOST_SLOTS = 64;
export const MOST_HELD = 64;
export const MOST_CHECKPOINTS = 16;
export const slots = fields.whole(0, 64);
export const offline = fields.whole(0, 86400);
export const start = fields.oneOf("given", "own", "elastic");
export const cause = fields.oneOf("stopping", "paused", "preempted", "data", "memory", "failed");
export const unitPhase = fields.oneOf("waiting", "training", "paused", "finished");

/**
 * First frame of a connection. `token` is secret; the client creates it once and keeps it.
 *
 * `shards` are the shards in its cache, the newest last.
 */
export const enlist = {
  token,
  kind,
  backend: word,
  agent: fields.text({ max: 64 }),
  shards: fields.list(hash, 64),
} as const;

/**
 * After Ready: the client takes up to `slots` units at a time from now on; 0 pauses it.
 *
 * It may be without a connection for `offline` seconds: its leases last that much longer, up to what the task allows.
 */
export const want = { slots, offline } as const;

/**
 * A heartbeat: the client still works on `lease`, and has done `steps` of it.
 *
 * For a lease that it gave back it says that it has a checkpoint, and would continue: the server repeats the Unit if
 * nobody else has got it, else it answers with Drop.
 */
export const beat = { lease: count, steps: count } as const;

/**
 * Offers the result of `lease`, which follows in chunks (whose `round` is the lease) once credited.
 *
 * The result is the change from the unit's weights, float32, of `size` bytes. `examples` counts the processed examples,
 * `loss` is their mean loss. `steps` is less than the unit's where the client was preempted. A client that told a
 * program commits to the vector: `commitment` is SHA-256(salt, its public id, lease, vector)
 * (`crypto.result_commitments`); `checkpoints` are the SHA-256 of its weights after some steps
 * (`protocols.replay.checkpoints`).
 */
export const result = {
  lease: count,
  examples: count,
  steps: count,
  loss: fields.real,
  sums,
  size: count,
  commitment: fields.nullable(hash),
  checkpoints: fields.list(hash, 16),
} as const;

/** Answer to OpenCommitment: the `salt` (32 bytes in hexadecimal) of the result of `lease`. */
export const salt = { lease: count, salt: hash } as const;

/** The client releases `lease` without a result. */
export const release = { lease: count, cause } as const;
export const unitsToServer = { enlist, ready, want, beat, result, salt, chunk, release, leave } as const;

/**
 * Answer to Enlist. `client` is the public id (16 hex digits), `bundle` the address of bundle.json.
 *
 * Clients may take work for `offline` seconds without a connection; 0: for none.
 */
export const enlisted = {
  task: fields.text(),
  client: fields.text(),
  bundle: hash,
  chunk_bytes: fields.whole(),
  offline,
} as const;

/**
 * Train on rows `first` to `first + examples` of `shard` from `weights`, within `seconds`.
 *
 * All clients of this unit get the same `seed` and weights, so that results can be compared. `base` counts the results
 * that are in the weights. `steps`, `epochs`, `batch_size`, `learning_rate`, `past_steps` and `proximal_mu` are as in
 * Train; the `steps` are those after the first `first_step`, which are in another client's partial result. `start` names
 * the initial weights; for `elastic`, these are the client's own last weights drawn towards the given ones by
 * `elasticity` (EASGD, Zhang et al. 2015). Own weights are those that the client sent last and that were not refused;
 * without any it starts from the given ones. A client sends a Beat every `heartbeat` seconds. The server repeats its
 * open leases after a reconnection.
 */
export const unit = {
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
  learning_rate: fields.real,
  past_steps: count,
  seed: count,
  proximal_mu: fields.real,
  start,
  elasticity: fields.real,
  seconds: fields.real,
  heartbeat: fields.real,
  first_step: count,
} as const;

/** `lease` is valid for `seconds` from now. */
export const renewed = { lease: count, seconds: fields.real } as const;

/**
 * `lease` is no longer needed; `reason` is for people. The server still checks a result sent for it.
 *
 * After Counted: another parameter server overwrote the result in the model; it stays credited.
 */
export const drop = { lease: count, reason: text } as const;

/**
 * Send the salt of the result of `lease`: the vector is here, or another client's that may equal it.
 *
 * An equal one needs no upload. Where the salt shows that it differs, Credit follows.
 */
export const openCommitment = { lease: count } as const;

/** The result of `lease` arrived. If it `waits`, it is compared with others before it counts. */
export const taken = { lease: count, waits: fields.truth } as const;

/** The result of `lease` is valid: its `examples` are credited. `blended`: the model contains it. */
export const counted = { lease: count, examples: count, blended: fields.truth } as const;

/** The result of `lease` does not count; `reason` is for people. */
export const rejected = { lease: count, code: word, reason: text } as const;

/** No unit is available for this client now, with the cause, for people; the server sends one later. */
export const idle = {
  cause: fields.oneOf("nothing", "quota", "reliable", "bound", "released", "over", "paused"),
} as const;

/**
 * The server's record of this client, which only this client receives.
 *
 * It has `credited` examples in `units` valid units; `checked` results in a row agreed with others' results; it may get
 * `quota` more units today.
 */
export const standing = {
  credited: count,
  units: count,
  checked: count,
  trusted: fields.truth,
  quota: count,
} as const;

/** The units of an epoch: all, the assimilated, the leased, and those that wait for comparison. */
export const tally = fields.record({ units: count, done: count, leased: count, compared: count });

/**
 * The task's current state, sent to all clients on change, less often with more clients.
 *
 * `base` is the number of the model, which counts blended results, `backlog` counts those that wait. `loss` and
 * `metrics` are from the newest evaluation, of weights with `measured` results in them; `loss` is None before the first.
 */
export const board = {
  phase: unitPhase,
  epoch: count,
  epochs: count,
  tally,
  base: count,
  backlog: count,
  browsers: count,
  peers: count,
  measured: count,
  loss: fields.nullable(fields.real),
  metrics,
} as const;
export const serverToUnits = {
  enlisted,
  unit,
  renewed,
  drop,
  credit,
  open: openCommitment,
  taken,
  counted,
  rejected,
  idle,
  standing,
  board,
  closing,
} as const;
