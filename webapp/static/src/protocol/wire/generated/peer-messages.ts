// Written by `python -m scripts.wire_types.command` from backend/wire.

import * as fields from "../fields";
import { askState, say, show, tellEvidence, tellState } from "./byzantine-messages";
import { count, hash, text } from "./fields";
import { signature } from "./masked-messages";
import { client, digest, fault, groupKey, held, memberWeights, note, place, places } from "./mesh-fields";
import { group, trained } from "./mesh-messages";
import { evaluation } from "./messages";

/** A heartbeat. `sent` is the sender's clock, `echo` the last `sent` received, `since` seconds ago. */
export const beat = { sent: fields.real, echo: fields.real, since: fields.real } as const;

/** Asks to forward this signal to the peer `client`, because the server cannot or is unavailable. */
export const passing = { client, data: note } as const;

/** A signal of the peer `client`, forwarded by the sender. */
export const passed = { client, data: note } as const;

/** Requests the weights whose SHA-256 is `weights`, from byte `offset` on. */
export const fetch = { weights: hash, offset: count } as const;

/** A chunk of weights that have `size` bytes in all; 0 where the sender does not have them. */
export const weights = { weights: hash, size: count, offset: count, data: fields.bytes } as const;

/**
 * Tells all survivors of the certified `weights` that the sender lost the server and may continue.
 *
 * `round` is the newest that it knows, `steward` whether it can lead, `measures` whether it has held-out examples.
 */
export const unattended = {
  round: count,
  weights: hash,
  steward: fields.truth,
  measures: fields.truth,
} as const;

/** From the leader: train `round` from `weights`; the peer `measures` evaluates them before it trains. */
export const setOut = { round: count, weights: hash, measures: fields.nullable(client) } as const;

/** The sender is connected to the server. */
export const attended = {} as const;

/**
 * To all: the sender's weight in the mean, and its commitments: the SHA-256 of each encoded part.
 *
 * Where pieces are masked it commits to none, and `key` is its X25519 key for this group.
 */
export const begin = {
  round: count,
  group: count,
  weight: fields.real,
  commitments: fields.list(digest, 32),
  key: groupKey,
} as const;

/**
 * The sender's piece of `part`, for its owner; in a ring the sum of `contributors`, the sender last.
 *
 * A masked piece is made for the sum over `contributors`, which ascend and include the sender.
 */
export const piece = {
  round: count,
  group: count,
  part: place,
  contributors: places,
  offset: count,
  data: fields.bytes,
} as const;

/** The mean of the pieces of `part` that `contributors` sent. */
export const mean = {
  round: count,
  group: count,
  part: place,
  contributors: places,
  offset: count,
  data: fields.bytes,
} as const;

/**
 * To the leader of `view`: digests of the sender's means by part, since (view, step) `held`.
 *
 * With `held` = (view, step) it has all means of this step; (0, 0) means that it never had all of a step. `weights` are
 * those of all members as the sender knows them; 0 where it does not.
 */
export const holds = {
  round: count,
  group: count,
  view: count,
  step: count,
  held: fields.list(count, 2, 2),
  parts: held,
  weights: memberWeights,
} as const;

/** To the leader: the member at `place` sends nothing usable; `reason` is for people. */
export const complain = { round: count, group: count, place, fault, reason: text } as const;

/** From the leader of `view` after a loss: report what you hold, and take part in no earlier step. */
export const ask = { round: count, group: count, view: count, step: count } as const;

/**
 * From the leader of `view`: the members that are alive at `step`, and the owners of the parts.
 *
 * `parts` are the digests of means that exist already; empty where the owner makes one from all pieces. `weights` are
 * those of all members as far as any remaining member knows.
 */
export const config = {
  round: count,
  group: count,
  view: count,
  step: count,
  alive: places,
  owners: places,
  parts: held,
  weights: memberWeights,
} as const;

/** From the leader: send your mean of `part` to the members at `places`. */
export const give = { round: count, group: count, view: count, step: count, part: place, places } as const;

/** To all: the leader is silent, and `view` has the next one. The other fields are as in `holds`. */
export const change = {
  round: count,
  group: count,
  view: count,
  held: fields.list(count, 2, 2),
  parts: held,
  weights: memberWeights,
} as const;

/**
 * The group's result: the survivors, the means by part and their contributors.
 *
 * `weights` are those of all members by place; 0 where no remaining member knows.
 */
export const decide = {
  round: count,
  group: count,
  view: count,
  step: count,
  survivors: places,
  parts: fields.list(digest, 32),
  contributors: fields.list(places, 32),
  weights: memberWeights,
} as const;

/** The group has no result; `reason` is for people. */
export const giveUp = { round: count, group: count, view: count, reason: text } as const;

/** To all survivors: the sender's signed weights (docs/reference/mesh.md, "Certificates"). */
export const attest = { round: count, group: count, weights: hash, signature } as const;
export const peerFrame = {
  beat,
  pass: passing,
  passed,
  fetch,
  weights,
  unattended,
  set_out: setOut,
  attended,
  trained,
  group,
  evaluation,
  begin,
  piece,
  mean,
  holds,
  complain,
  ask,
  config,
  give,
  change,
  decide,
  give_up: giveUp,
  attest,
  say,
  show,
  ask_state: askState,
  tell_state: tellState,
  tell_evidence: tellEvidence,
} as const;
