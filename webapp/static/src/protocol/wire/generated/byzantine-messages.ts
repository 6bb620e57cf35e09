// Written by `python -m scripts.wire_types.command` from backend/wire.

import * as fields from "../fields";
import { count, hash } from "./fields";
import { key, signature } from "./masked-messages";
import { digest, outer } from "./mesh-fields";
import { shard } from "./messages";

export const phaseName = fields.text({ max: 16, pattern: /^[a-z]+(-[0-9]{1,2})?$/ });
export const body = fields.bytesOf(1, 49152);

/**
 * The section `[coordination.byzantine]`, and the times of a round in seconds.
 *
 * `radius` is per root of a part's size, None to measure it. A frame takes at most half of `patience`.
 */
export const byzantineTerms = fields.record({
  validators: fields.whole(),
  radius: fields.nullable(fields.real),
  far: fields.real,
  probation: fields.whole(),
  audits: fields.whole(),
  seconds: fields.real,
  patience: fields.real,
});

/** How far the same work may be apart on two devices (numerics/aggregation/result_agreement.py). */
export const workTolerance = fields.record({
  distance: fields.real,
  cosine: fields.real,
  blame: fields.real,
});

/**
 * What the members of a Byzantine mesh must have in common to check each other's work.
 *
 * Their states contain its digest, so that members with other rules never form one mesh. `run` names the run of the
 * task; each round does `steps` of `batch_size` rows of one of the public `shards`. Without a `tolerance` the same work
 * has the same bits on all devices.
 */
export const byzantineRules = fields.record({
  terms: byzantineTerms,
  bundle: hash,
  run: hash,
  outer,
  steps: fields.whole(1, 64),
  batch_size: count,
  learning_rate: fields.real,
  tolerance: fields.nullable(workTolerance),
  shards: fields.list(shard, 4096, 1),
});

/** A signed statement (crypto/statements.py); `body` is one of byzantine_bodies.py. */
export const said = fields.record({ identity: key, phase: phaseName, before: digest, body, signature });

/** The signature of a member that passed a statement on. */
export const passedOn = fields.record({ identity: key, signature });

/** To all: a statement of the sender in `turn` of this round, or of another member, passed on. */
export const say = {
  round: count,
  group: count,
  turn: fields.whole(1, 32),
  said,
  passed_on: fields.list(passedOn, 32),
} as const;

/** A chunk of a piece or mean of `size` bytes in all, by its SHA-256. */
export const show = {
  round: count,
  group: count,
  digest,
  size: count,
  offset: count,
  data: fields.bytes,
} as const;

/** Requests the newest state that the receiver knows, if it is one after round `after`. */
export const askState = { after: count } as const;

/**
 * To a peer or the server: the newest state that the sender knows, an encoded AgreedState.
 *
 * Its form is that of protocols/mesh/byzantine/state.py.
 *
 * `attempt` (round and group), `turn` and `active` name the turn in which members signed it in `verdicts`; nothing of
 * the first state.
 */
export const tellState = {
  state: fields.bytesOf(0, 65536),
  attempt: fields.list(count, 2, 2),
  turn: fields.whole(0, 32),
  active: fields.list(fields.text({ min: 16, max: 16 }), 32),
  verdicts: fields.list(said, 32),
} as const;

/**
 * Evidence that bans `identity`, an encoded BanEvidence (wire/ban_evidence.py), by SHA-256 and `size`.
 *
 * `data` are its bytes, or none: who lacks it sends `fetch`.
 */
export const tellEvidence = {
  identity: key,
  digest,
  size: fields.whole(1, 268435456),
  data: fields.bytes,
} as const;
