// Written by `python -m scripts.wire_types.command` from backend/wire.

import * as fields from "../fields";
import { count, hash, kind, metrics, phase, source, status, sums, text, token, word } from "./fields";
import {
  aggregation,
  aggregationTerms,
  consistencySignature,
  dealt,
  decline,
  keys,
  masking,
  reveal,
  roster,
  shares,
  survivors,
  unmask,
} from "./masked-messages";

/**
 * First frame of a connection. `token` is secret; the client creates it once and keeps it.
 *
 * `aggregation` lists how its updates may be added up, `min_masked` the minimum of clients where masked.
 */
export const hello = {
  token,
  kind,
  backend: word,
  agent: fields.text({ max: 64 }),
  aggregation: fields.list(aggregation, 2, 1),
  min_masked: fields.whole(0, 2048),
} as const;

/**
 * The client loaded the bundle and timed one step: it may now be selected for a round.
 *
 * `examples` is the number of its own training examples; 0 where the task assigns shards. `program` is the hash of its
 * program, if that gives the same bits on every machine (backend `exact`).
 */
export const ready = {
  backend: word,
  step_ms: fields.real,
  examples: count,
  program: fields.nullable(hash),
} as const;

/**
 * Offers a finished (or partly finished) update, which follows in chunks once the server grants credit.
 *
 * `examples` counts the processed examples (the update's weight in the mean), `loss` is their mean loss, `size` the
 * update's length in bytes.
 */
export const offer = {
  round: count,
  version: count,
  examples: fields.whole(),
  steps: fields.whole(),
  loss: fields.real,
  sums,
  size: count,
} as const;

/**
 * Bytes of the offered update from `offset` on; chunks are sent in order, at most CHUNK_BYTES long.
 *
 * `data` of a decoded chunk is a view of the frame, without a copy.
 */
export const chunk = { round: count, offset: count, data: fields.bytes } as const;

/** The evaluation that Evaluate asked for; `examples` is 0 where the client holds none out. */
export const evaluation = { round: count, version: count, examples: count, loss: fields.real, sums } as const;

/** The volunteer stops; the round continues without this client. */
export const leave = {} as const;
export const clientFrame = {
  hello,
  ready,
  offer,
  chunk,
  evaluation,
  leave,
  keys,
  shares,
  vouch: consistencySignature,
  reveal,
  decline,
} as const;

/**
 * What [privacy] of the task file promises: updates or gradients are clipped to the L2 norm `clip`.
 *
 * The noise has the standard deviation `noise` times `clip`. It is added by the server (`central`), or by the clients:
 * to their updates (`local`), in shares that add up to it (`distributed`), or to the sum of a step's gradients,
 * `microbatch` examples at a time (`examples`); a round then makes at most `visits` to an example, which are 0 else.
 * Epsilon is stated for `delta`.
 */
export const privacyTerms = fields.record({
  mechanism: fields.oneOf("central", "local", "distributed", "examples"),
  clip: fields.real,
  noise: fields.real,
  delta: fields.real,
  microbatch: count,
  visits: count,
});

/**
 * Answer to Hello. `client` is the public id (16 hex digits), `bundle` the address of bundle.json.
 *
 * `aggregation` is how this client's updates are added up: the task's first choice that the client offered. `run`
 * identifies the run of the task; versions count from 0, and a restarted task gets a new run. A client leaves a server
 * whose plans do less than the terms of `masking` (None where updates are not masked) and of `privacy` (None without
 * [privacy]). In so many rounds of `probation` its updates are checked before they count.
 */
export const welcome = {
  task: fields.text(),
  client: fields.text(),
  bundle: hash,
  run: hash,
  chunk_bytes: fields.whole(),
  aggregation,
  masking: fields.nullable(aggregationTerms),
  privacy: fields.nullable(privacyTerms),
  probation: count,
} as const;

/** Address of a data shard and the number of its examples. */
export const shard = fields.record({ sha256: hash, examples: count });

/**
 * The client's local differential privacy, for itself and for each of its examples; 0 switches it off.
 *
 * The update is clipped to the L2 norm `clip`; the Gaussian noise on each value has the standard deviation `noise` times
 * `clip`. In training, the gradients of `microbatch` examples at a time are clipped to `example_clip`, and a step's sum
 * gets noise of `example_noise` times that (Abadi et al. 2016).
 */
export const privacy = fields.record({
  clip: fields.real,
  noise: fields.real,
  example_clip: fields.real,
  example_noise: fields.real,
  microbatch: count,
});

/**
 * Assigns training in `round`: train from `weights` on `shards` and report within `seconds`.
 *
 * Without `shards` the client trains on its own examples. With `steps` = 0 the epochs give their number; else exactly
 * `steps` are done and `epochs` is 0. `batch_size` rows of a step are filled, at most the bundle's. `past_steps` is the
 * position in a learning-rate schedule; 0 for a bundle without one. `proximal_mu` times the difference to the version's
 * weights is added to each gradient (FedProx, Li et al. 2020). `control` is the address of the server's control variate,
 * float32 [trainable] (SCAFFOLD, Karimireddy et al. 2020). With `masking` the update is sent masked, after an exchange
 * of keys; `privacy` bounds what it reveals.
 */
export const train = {
  round: count,
  version: count,
  weights: hash,
  epochs: count,
  steps: count,
  batch_size: count,
  learning_rate: fields.real,
  past_steps: count,
  seed: count,
  proximal_mu: fields.real,
  control: fields.nullable(hash),
  masking: fields.nullable(masking),
  privacy: fields.nullable(privacy),
  shards: fields.list(shard),
  seconds: fields.real,
} as const;

/** Asks for an evaluation of `version` on `shards`, or on own held-out examples, within `seconds`. */
export const evaluate = {
  round: count,
  version: count,
  weights: hash,
  shards: fields.list(shard),
  seconds: fields.real,
} as const;

/** The client may send the update of `round` up to (excluding) byte `until`. */
export const credit = { round: count, until: count } as const;

/**
 * The client's update is accepted with `examples` in `round`.
 *
 * If it is not `counted` in the aggregate, `reason` says why, for people; without a reason it was checked only, as those
 * of newcomers are. Pages say the same in other languages by `code`: `quarantine` for what was `found` in earlier
 * updates, or `household` for a new client of a network where it was; it may count after `rounds` more.
 */
export const accepted = {
  round: count,
  examples: count,
  counted: fields.truth,
  reason: text,
  code: fields.nullable(word),
  found: fields.list(word, 2),
  rounds: count,
} as const;

/** The client's update of `round` does not count; `reason` is for people. */
export const refused = { round: count, code: word, reason: text } as const;

/** The public description of a connected client. */
export const participant = fields.record({
  client: fields.text(),
  kind,
  backend: fields.text(),
  status,
  accepted: count,
});

/**
 * The task's current state, sent to all clients on change, at most four times a second.
 *
 * `needed` is the number of clients missing before a round opens. `cohort` and `reported` count the members of the open
 * round and their reports, `seconds` is the time to its deadline (None without an open round).
 */
export const state = {
  phase,
  round: count,
  version: count,
  needed: fields.whole(),
  cohort: fields.whole(),
  reported: fields.whole(),
  quorum: fields.whole(),
  seconds: fields.nullable(fields.real),
  participants: fields.list(participant),
} as const;

/** Announces a new model version. `loss` and `metrics` are the cohort's, on its training data. */
export const version = {
  version: count,
  round: count,
  weights: hash,
  accepted: count,
  examples: count,
  loss: fields.real,
  metrics,
} as const;

/** The evaluation of a version on held-out examples: by the server on its own shards, or by clients. */
export const evaluated = { version: count, source, loss: fields.real, metrics } as const;

/** The round ended without a new version; `reason` is for people. */
export const abandoned = { round: count, reason: text } as const;

/** Last frame before the server closes this connection. */
export const closing = { code: word, reason: text } as const;
export const serverFrame = {
  welcome,
  train,
  evaluate,
  credit,
  accepted,
  refused,
  state,
  version,
  evaluated,
  abandoned,
  roster,
  dealt,
  survivors,
  unmask,
  closing,
} as const;
