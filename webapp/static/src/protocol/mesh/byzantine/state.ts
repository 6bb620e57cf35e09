/**
 * What the members of a Byzantine mesh agree on after a round; certificates sign its digest. All digests, keys and the
 * coin are hexadecimal. The twin is backend/protocols/mesh/byzantine/state.py.
 */

import { type Bytes, fields, fromHex, integer, real, utf8 } from "../../../core/crypto/bytes";
import { hashFields } from "../../../core/crypto/hash";
import type { MeshMembership } from "./membership";

/** The work of `client` in the state's round, by the digest of its `commit` statement. */
export interface CheckedWork {
  readonly client: string;
  readonly commit: string;
}

/**
 * Work of `target` in `round` that `validator` found to be other work, or too near a limit to say. Nobody accuses
 * (`validator` is empty) where the work was not shown: it may come to light again. Of a newcomer's work `second` found
 * that it is right: one of the two lied.
 */
export interface WorkCase {
  readonly target: string;
  readonly round: number;
  readonly validator: string;
  readonly second: string;
}

/** Returns the client that is banned if more than half `found` this about a case; empty if nobody is. */
export function convictedBy({ target, validator, second }: WorkCase, found: string | null): string {
  if (found === "other") return second || target;
  return found === "same" ? validator : "";
}

/** Returns what more than half must find about a case to ban `client`; null if nothing does. */
export function convicting(one: WorkCase, client: string): "other" | "same" | null {
  return (["other", "same"] as const).find((found) => convictedBy(one, found) === client) ?? null;
}

/** A member with a seat that said in `round` that it cannot do others' work again. */
export interface UnableMember {
  readonly client: string;
  readonly round: number;
}

/**
 * The state after `round`; the next round begins with it. `weights` and `slots` are SHA-256 of the weights and of the
 * outer optimizer's momentum. `radius` is per root of a part's size, 0 before the first one was measured. All members
 * with a seat judge the cases in `court` in the next round, one further validator each those in `doubtful`, and those in
 * `suspected`, where the first one found a newcomer's work wrong. Those who are `unable`, ordered by client, are not
 * drawn as validators.
 */
export interface AgreedState {
  readonly round: number;
  readonly weights: string;
  readonly slots: string;
  readonly coin: string;
  readonly radius: number;
  readonly membership: MeshMembership;
  readonly works: readonly CheckedWork[];
  readonly court: readonly WorkCase[];
  readonly doubtful: readonly WorkCase[];
  readonly suspected: readonly WorkCase[];
  readonly rules: string;
  readonly before: string;
  readonly said: string;
  readonly unable: readonly UnableMember[];
}

const digests = new WeakMap<AgreedState, string>();

/** Returns the SHA-256 of the state. */
export function stateDigest(state: AgreedState): string {
  const digest = digests.get(state) ?? digestOf(state);
  digests.set(state, digest);
  return digest;
}

function digestOf(state: AgreedState): string {
  return hashFields(
    utf8("minga/mesh/1/state"),
    integer(state.round),
    fromHex(state.weights),
    fromHex(state.slots),
    fromHex(state.coin),
    real(state.radius),
    membershipBytes(state.membership),
    ...state.works.map(({ client, commit }) => fields(utf8(client), fromHex(commit))),
    utf8("court"),
    ...state.court.map(caseBytes),
    utf8("doubtful"),
    ...state.doubtful.map(caseBytes),
    utf8("suspected"),
    ...state.suspected.map(caseBytes),
    fromHex(state.rules),
    fromHex(state.before),
    fromHex(state.said),
    utf8("unable"),
    ...state.unable.map(({ client, round }) => fields(utf8(client), integer(round))),
  );
}

function caseBytes({ target, round, validator, second }: WorkCase): Bytes {
  return fields(utf8(target), integer(round), utf8(validator), utf8(second));
}

function membershipBytes({ seats, newcomers, banned }: MeshMembership): Bytes {
  return fields(
    ...seats.map(({ client, identity, absences }) =>
      fields(utf8(client), fromHex(identity), ...absences.map(integer)),
    ),
    utf8("newcomers"),
    ...newcomers.map(({ client, identity, rounds, audits }) =>
      fields(utf8(client), fromHex(identity), integer(rounds), ...audits.map(integer)),
    ),
    utf8("banned"),
    ...banned.map(fromHex),
  );
}
