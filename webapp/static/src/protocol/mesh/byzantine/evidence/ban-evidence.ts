/**
 * The form of evidence against a member of a Byzantine mesh, and of the states in it. The twin, which explains the
 * fields, is backend/wire/ban_evidence.py. Bytes are written in one way, so that the same guilt has one hash.
 */

import { encode } from "@msgpack/msgpack";
import { sameBytes, toHex } from "../../../../core/crypto/bytes";
import * as fields from "../../../wire/fields";
import { said } from "../../../wire/generated/byzantine-messages";
import { count, hash } from "../../../wire/generated/fields";
import { key } from "../../../wire/generated/masked-messages";
import { client, digest, MOST_IN_GROUP, place } from "../../../wire/generated/mesh-fields";
import { unpack } from "../../../wire/msgpack";
import type { AgreedState } from "../state";

const MOST_EVIDENCE = 1 << 28;
const MOST_STATE = 1 << 16;
/** How many turns one piece of evidence may have. */
export const MOST_TURNS = 8;

/** What is presented as evidence against a member of a mesh does not convict it. */
export class EvidenceError extends Error {
  override readonly name = "EvidenceError";
}

const turnSaid = fields.record({
  state: fields.bytesOf(1, MOST_STATE),
  attempt: fields.list(count, 2, 2),
  turn: fields.whole(1, MOST_IN_GROUP),
  active: fields.list(client, MOST_IN_GROUP, 1),
  said: fields.list(said, 4 * MOST_IN_GROUP, 1),
});

const banEvidence = fields.record({
  form: fields.oneOf("minga-evidence.1"),
  task: fields.text({ min: 1, max: 64 }),
  run: hash,
  kind: fields.oneOf("two-words", "wrong-mean", "wrong-check", "majority"),
  client,
  identity: key,
  part: place,
  turns: fields.list(turnSaid, MOST_TURNS, 1),
  contents: fields.list(fields.bytes, 2 * MOST_IN_GROUP),
});

export type TurnSaid = fields.Checked<typeof turnSaid>;
export type BanEvidence = fields.Checked<typeof banEvidence>;

const seat = fields.record({ client: fields.text(), identity: fields.bytes, absences: fields.list(count) });
const newcomer = fields.record({
  client: fields.text(),
  identity: fields.bytes,
  rounds: count,
  audits: fields.list(count),
});
const workCase = fields.record({
  target: fields.text(),
  round: count,
  validator: fields.text(),
  second: fields.text(),
});
const agreedState = fields.record({
  round: count,
  weights: fields.bytes,
  slots: fields.bytes,
  coin: fields.bytes,
  radius: fields.real,
  membership: fields.record({
    seats: fields.list(seat),
    newcomers: fields.list(newcomer),
    banned: fields.list(fields.bytes),
  }),
  works: fields.list(fields.record({ client: fields.text(), commit: digest })),
  court: fields.list(workCase),
  doubtful: fields.list(workCase),
  suspected: fields.list(workCase),
  rules: fields.bytes,
  before: fields.bytes,
  said: fields.bytes,
  unable: fields.list(fields.record({ client: fields.text(), round: count })),
});

/** Returns the evidence of a file's bytes, not checked yet. Throws EvidenceError for other bytes. */
export function decodeEvidence(data: Uint8Array): BanEvidence {
  if (data.length > MOST_EVIDENCE) throw new EvidenceError(`Evidence has at most ${MOST_EVIDENCE} bytes.`);
  const evidence = checked(data, banEvidence, "These bytes are no evidence.");
  if (!sameBytes(encode(evidence), data))
    throw new EvidenceError("These bytes are no evidence as Minga writes it.");
  return evidence;
}

/** Returns the state that these bytes encode. Throws EvidenceError for others. */
export function readState(data: Uint8Array): AgreedState {
  const state = checked(data, agreedState, "The state in it is none.");
  if (!sameBytes(encodedState(state), data))
    throw new EvidenceError("The state in it is not written as Minga writes it.");
  if (!(state.radius >= 0 && state.radius < Number.POSITIVE_INFINITY))
    throw new EvidenceError("The state in it has an impossible radius.");
  const { membership } = state;
  return {
    ...state,
    weights: toHex(state.weights),
    slots: toHex(state.slots),
    coin: toHex(state.coin),
    membership: {
      seats: membership.seats.map((one) => ({ ...one, identity: toHex(one.identity) })),
      newcomers: membership.newcomers.map((one) => ({ ...one, identity: toHex(one.identity) })),
      banned: membership.banned.map(toHex),
    },
    works: state.works.map(({ client, commit }) => ({ client, commit: toHex(commit) })),
    rules: toHex(state.rules),
    before: toHex(state.before),
    said: toHex(state.said),
  };
}

/** Encodes a state as Python does, which writes the radius as a float even if it is whole. */
function encodedState(state: fields.Checked<typeof agreedState>): Uint8Array {
  const { round, weights, slots, coin, radius } = state;
  const bytes = encode({ ...state, radius: 0.1 });
  // Before the number stand the other fields, its name with a byte of length, and the byte that says it is a float.
  const offset = encode({ round, weights, slots, coin }).length + "radius".length + 2;
  new DataView(bytes.buffer, bytes.byteOffset).setFloat64(offset, radius);
  return bytes;
}

function checked<T>(data: Uint8Array, check: fields.Check<T>, reason: string): T {
  try {
    return check(unpack(data), "evidence");
  } catch {
    throw new EvidenceError(reason);
  }
}
