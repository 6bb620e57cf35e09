/**
 * The bytes of a state in `tell_state`, the same in both languages. The twin is in
 * backend/protocols/mesh/byzantine/adoption.py; tests/contract/vectors/byzantine_states.json binds both.
 */

import { type Bytes, fromHex, toHex } from "../../../core/crypto/bytes";
import * as fields from "../../wire/fields";
import { count } from "../../wire/generated/fields";
import { client, digest } from "../../wire/generated/mesh-fields";
import type { ByzantineFrame } from "../../wire/mesh";
import { unpack } from "../../wire/msgpack";
import { packed, packedList, packedReal, packedRecord } from "./packing";
import type { AgreedState, WorkCase } from "./state";

export type TellState = Extract<ByzantineFrame, { readonly type: "tell_state" }>;

const hex: fields.Check<string> = (value, where) => toHex(digest(value, where));
const maybeClient = fields.text({ max: 16 });
const workCase = fields.record({ target: client, round: count, validator: maybeClient, second: maybeClient });
const stateFields: fields.Check<AgreedState> = fields.record({
  round: count,
  weights: hex,
  slots: hex,
  coin: hex,
  radius: fields.real,
  membership: fields.record({
    seats: fields.list(fields.record({ client, identity: hex, absences: fields.list(count) })),
    newcomers: fields.list(
      fields.record({ client, identity: hex, rounds: count, audits: fields.list(count) }),
    ),
    banned: fields.list(hex),
  }),
  works: fields.list(fields.record({ client, commit: hex })),
  court: fields.list(workCase),
  doubtful: fields.list(workCase),
  suspected: fields.list(workCase),
  rules: hex,
  before: hex,
  said: hex,
  unable: fields.list(fields.record({ client, round: count })),
});

export function encodeState(state: AgreedState): Bytes {
  const { seats, newcomers, banned } = state.membership;
  return packedRecord({
    round: packed(state.round),
    weights: packedHex(state.weights),
    slots: packedHex(state.slots),
    coin: packedHex(state.coin),
    radius: packedReal(state.radius),
    membership: packedRecord({
      seats: packedList(
        seats.map((seat) =>
          packedRecord({
            client: packed(seat.client),
            identity: packedHex(seat.identity),
            absences: packedList(seat.absences.map(packed)),
          }),
        ),
      ),
      newcomers: packedList(
        newcomers.map((one) =>
          packedRecord({
            client: packed(one.client),
            identity: packedHex(one.identity),
            rounds: packed(one.rounds),
            audits: packedList(one.audits.map(packed)),
          }),
        ),
      ),
      banned: packedList(banned.map(packedHex)),
    }),
    works: packedList(
      state.works.map((work) =>
        packedRecord({ client: packed(work.client), commit: packedHex(work.commit) }),
      ),
    ),
    court: packedList(state.court.map(packedCase)),
    doubtful: packedList(state.doubtful.map(packedCase)),
    suspected: packedList(state.suspected.map(packedCase)),
    rules: packedHex(state.rules),
    before: packedHex(state.before),
    said: packedHex(state.said),
    unable: packedList(
      state.unable.map((one) => packedRecord({ client: packed(one.client), round: packed(one.round) })),
    ),
  });
}

/** Returns the state in a frame; null where the sender knows none, or sends something else. */
export function toldState({ state }: TellState): AgreedState | null {
  try {
    return state.length > 0 ? stateFields(unpack(state), "the state") : null;
  } catch {
    // Whatever the decoder throws, these bytes are no state.
    return null;
  }
}

function packedHex(digits: string): Bytes {
  return packed(fromHex(digits));
}

function packedCase({ target, round, validator, second }: WorkCase): Bytes {
  return packedRecord({
    target: packed(target),
    round: packed(round),
    validator: packed(validator),
    second: packed(second),
  });
}
