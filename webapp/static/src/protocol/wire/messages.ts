/**
 * The messages on a task's socket. PROTOCOL.md is the specification; this file is its TypeScript half.
 *
 * Frames are msgpack maps whose key `type` holds the tag. Vectors are little-endian float32. Durations are seconds,
 * sizes are bytes, hashes are lower-case hexadecimal SHA-256.
 */

import { encode } from "@msgpack/msgpack";
import {
  bytes,
  type Checked,
  FrameError,
  list,
  type MessageOf,
  type Messages,
  nullable,
  numbers,
  oneOf,
  pair,
  real,
  record,
  tagged,
  text,
  whole,
} from "./fields";
import { aggregation, aggregationTerms, MASKED_CLIENT, MASKED_SERVER, MOST_MEMBERS, masking } from "./masked";
import { unpack } from "./msgpack";

export { FrameError };

export const PROTOCOL = "minga.1";
export const CHUNK_BYTES = 256 * 1024;
/** A chunk and its envelope; every other message is far smaller. */
export const MAX_CLIENT_FRAME = CHUNK_BYTES + 1024;
export const MAX_SERVER_FRAME = 1 << 20;

export const token = text({ min: 22, max: 64, pattern: /^[A-Za-z0-9_-]+$/ });
export const word = text({ max: 32, pattern: /^[a-z0-9-]+$/ });
export const reason = text({ max: 500 });
export const hash = text({ min: 64, max: 64, pattern: /^[0-9a-f]+$/ });
export const count = whole(0);
export const metrics = numbers(16);
/** A numerator and a denominator for each metric row of the bundle, added up over examples. */
export const sums = list(pair, 2048);
/** Address of a data shard and the number of its examples. */
export const shard = record({ sha256: hash, examples: count });
const shards = list(shard);
export const kind = oneOf("browser", "peer");

/**
 * Bounds on what an update reveals. The update is clipped to the L2 norm `clip`; Gaussian noise on each value has the
 * standard deviation `noise` times `clip`. Within training, gradients of `microbatch` examples at a time are clipped
 * to `example_clip`, and the sum of a step's gets noise of `example_noise` times that. 0 means none.
 */
const privacy = record({
  clip: real,
  noise: real,
  example_clip: real,
  example_noise: real,
  microbatch: count,
});

/**
 * What [privacy] of the task file promises: updates or gradients are clipped to the L2 norm `clip`. The noise has the
 * standard deviation `noise` times `clip`. It is added by the server (`central`), or by the clients: to their updates
 * (`local`), in shares that add up to it (`distributed`), or to the sum of a step's gradients, `microbatch` examples at
 * a time (`examples`); a round then makes at most `visits` to an example, which are 0 else. Epsilon is stated for
 * `delta`.
 */
const privacyTerms = record({
  mechanism: oneOf("central", "local", "distributed", "examples"),
  clip: real,
  noise: real,
  delta: real,
  microbatch: count,
  visits: count,
});

const participant = record({
  client: text(),
  kind,
  backend: text(),
  status: oneOf("loading", "ready", "training", "evaluating", "reported", "refused"),
  accepted: count,
});
export type Participant = Checked<typeof participant>;

export const CLIENT = {
  /**
   * First frame of a connection. `token` is secret, made once by the client and kept between sessions. `aggregation`
   * lists how its updates may be added up, `min_masked` the least number of clients for masking.
   */
  hello: {
    token,
    kind,
    backend: word,
    agent: text({ max: 64 }),
    aggregation: list(aggregation, 2, 1),
    min_masked: whole(0, MOST_MEMBERS),
  },
  /**
   * The bundle is loaded and one step was timed: the client may be selected for a round from now on. `examples` is
   * the number of its own training examples; 0 if the task assigns shards. `program` is the hash of what computes, if
   * that gives the same bits on every machine (backend `exact`).
   */
  ready: { backend: word, step_ms: real, examples: count, program: nullable(hash) },
  /** An update of `size` bytes follows in chunks once the server grants credit. `examples` is its weight. */
  offer: {
    round: count,
    version: count,
    examples: whole(),
    steps: whole(),
    loss: real,
    sums,
    size: count,
  },
  /** Bytes of the offered update from `offset` on; chunks go in order, at most `chunk_bytes` long. */
  chunk: { round: count, offset: count, data: bytes },
  /** The result that `evaluate` asked for; `examples` is 0 if this client has none held out. */
  evaluation: { round: count, version: count, examples: count, loss: real, sums },
  /** The volunteer stops; the round continues without this client. */
  leave: {},
  ...MASKED_CLIENT,
} as const;

export const SERVER = {
  /**
   * Answer to Hello. `client` is the public id (16 hexadecimal digits), `bundle` the address of bundle.json,
   * `aggregation` how this client's updates are added up: the task's first choice that it offered. `run` names the
   * run of the task, whose versions count from 0; a task that begins anew has another one. A client leaves a server
   * whose plans do less than the terms of `masking` (null where updates are not masked) and of `privacy` (null without
   * [privacy]).
   */
  welcome: {
    task: text(),
    client: text(),
    bundle: hash,
    run: hash,
    chunk_bytes: whole(),
    aggregation,
    masking: nullable(aggregationTerms),
    privacy: nullable(privacyTerms),
  },
  /**
   * The client is in the cohort of `round`: it trains from `weights` on `shards`, or without them on its own
   * examples, and reports within `seconds`.
   */
  train: {
    round: count,
    version: count,
    weights: hash,
    epochs: count,
    /** The exact number of steps, and `epochs` is 0; if it is 0, the epochs determine it. */
    steps: count,
    /** Rows of a step that are filled, at most the bundle's. */
    batch_size: count,
    learning_rate: real,
    /** The position in a learning-rate schedule; 0 for a bundle without one. */
    past_steps: count,
    seed: count,
    /** The factor of the distance from the version's weights that is added to each gradient (FedProx). */
    proximal_mu: real,
    /** Address of the server's control variate, float32 [trainable] (SCAFFOLD); null without. */
    control: nullable(hash),
    /** If set, the update is sent masked, after an exchange of keys. */
    masking: nullable(masking),
    /** If set, bounds what the update reveals about the client or an example. */
    privacy: nullable(privacy),
    shards,
    seconds: real,
  },
  /** Evaluate `version` on `shards`, or without them on the client's own held-out examples, within `seconds`. */
  evaluate: { round: count, version: count, weights: hash, shards, seconds: real },
  /** The update of `round` may be sent up to (excluding) byte `until`. */
  credit: { round: count, until: count },
  /** The update counts with `examples` in `round`. */
  accepted: { round: count, examples: count },
  /** The update of `round` does not count; `reason` is for people. */
  refused: { round: count, code: word, reason },
  /** The current phase, for all clients; `seconds` is the time to the open round's deadline, null without one. */
  state: {
    phase: oneOf("waiting", "training", "evaluating", "aggregating", "paused", "finished"),
    round: count,
    version: count,
    needed: whole(),
    cohort: whole(),
    reported: whole(),
    quorum: whole(),
    seconds: nullable(real),
    participants: list(participant),
  },
  /** A new model version exists. `loss` and `metrics` are the cohort's own, on its training data. */
  version: {
    version: count,
    round: count,
    weights: hash,
    accepted: count,
    examples: count,
    loss: real,
    metrics,
  },
  /** The version was evaluated on held-out examples: by the server on its own shards, or by clients. */
  evaluated: { version: count, source: oneOf("server", "clients"), loss: real, metrics },
  /** The round ended without a new version; `reason` is for people. */
  abandoned: { round: count, reason },
  ...MASKED_SERVER,
  /** Last frame before the server closes this connection. */
  closing: { code: word, reason },
} as const;

export type ClientFrame = MessageOf<typeof CLIENT>;
export type ServerFrame = MessageOf<typeof SERVER>;
export type FrameOf<Tag extends (ClientFrame | ServerFrame)["type"]> = Extract<
  ClientFrame | ServerFrame,
  { readonly type: Tag }
>;

/** Encodes a message of either direction as a frame. */
export function encodeFrame(message: ClientFrame | ServerFrame): Uint8Array<ArrayBuffer> {
  return encode(message);
}

/** Decodes a client's message. Throws FrameError on anything else. */
export const decodeClient: (frame: Uint8Array) => ClientFrame = reader(CLIENT, MAX_CLIENT_FRAME);

/** Decodes a message of the server. Throws FrameError on anything else. */
export const decodeServer: (frame: Uint8Array) => ServerFrame = reader(SERVER, MAX_SERVER_FRAME);

/** Makes a decoder of frames of at most `limit` bytes that hold one of these messages. */
export function reader<M extends Messages>(messages: M, limit: number): (frame: Uint8Array) => MessageOf<M> {
  const check = tagged(messages);
  return (frame) => check(unpackFrame(frame, limit), "the frame");
}

/** Decodes the bytes of a frame before they are checked. Throws FrameError. */
export function unpackFrame(frame: Uint8Array, limit: number): unknown {
  if (frame.length > limit) {
    throw new FrameError(`The frame has ${frame.length} bytes; at most ${limit} are allowed.`);
  }
  try {
    return unpack(frame);
  } catch (error) {
    // The decoder throws several kinds of errors; all mean that these bytes are not msgpack.
    throw new FrameError(`The frame is not a message of this protocol: ${String(error)}`);
  }
}
