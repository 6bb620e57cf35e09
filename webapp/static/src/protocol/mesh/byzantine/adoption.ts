/**
 * Which state of others a member adopts: one that follows from its own, or that most of its seats tell. The twin is
 * backend/protocols/mesh/byzantine/adoption.py.
 */

import { toHex } from "../../../core/crypto/bytes";
import { isSaid, type SignedStatement, type TurnOfRound } from "../../../core/crypto/statements";
import { type TellState, toldState } from "./encoded-state";
import { identities, present } from "./membership";
import { basisOf } from "./roles";
import { type AgreedState, stateDigest } from "./state";
import { decodeBody } from "./statement-bodies";

/** A state that can be believed, with the frame that told it. */
export interface ToldState {
  readonly state: AgreedState;
  readonly frame: TellState;
}

/** What a member knows when others tell it their states. */
export interface KnownState {
  readonly task: string;
  readonly run: string;
  /** The digest of its rules. */
  readonly rules: string;
  readonly own: AgreedState | null;
  /** The digest of a state that it knows to be agreed. */
  readonly wanted: string | null;
  /** This member, which is not asked. */
  readonly client: string;
}

/** Whether more than half of the members with a seat in `own` signed `state` as the next one. */
export async function isProven(
  { task, run }: Pick<KnownState, "task" | "run">,
  own: AgreedState,
  state: AgreedState,
  { attempt, turn: number, active, verdicts }: TellState,
): Promise<boolean> {
  const seated = present(own.membership, state.round);
  const follows = state.round === own.round + 1 && state.before === stateDigest(own);
  if (!follows || !active.every((client) => seated.includes(client))) return false;
  const [round = 0, group = 0] = attempt;
  const basis = basisOf(own, [round, group], active);
  const turn = { task, run, round: state.round, turn: number, basis };
  const known = identities(own.membership);
  const waiting = new Set(active.map((client) => known.get(client)));
  const digest = stateDigest(state);
  let signed = 0;
  for (const said of verdicts) {
    const identity = toHex(said.identity);
    if (!waiting.has(identity) || !(await isVerdict(turn, said as SignedStatement, digest))) continue;
    waiting.delete(identity);
    signed += 1;
  }
  return 2 * signed > seated.length;
}

/**
 * Returns the newest state that this member can believe. `told` are frames by client, `keys` those that links to these
 * clients proved. A state follows from the own one by signatures of more than half. One farther ahead counts if more
 * than half of those with a seat in it tell it, and of those with a seat in the own one: anybody can make up a state in
 * which all seats are its own. A newcomer knows none.
 */
export async function adopted(
  known: KnownState,
  told: ReadonlyMap<string, TellState>,
  keys: ReadonlyMap<string, string>,
): Promise<ToldState | null> {
  const { own, rules, wanted, client: self } = known;
  const states = [...told.keys()].sort().flatMap((client) => {
    const frame = told.get(client) as TellState;
    const state = toldState(frame);
    return state === null ? [] : [{ client, state, frame, digest: stateDigest(state) }];
  });
  const tellers = new Map<string, Set<string>>();
  for (const { client, digest } of states)
    tellers.set(digest, (tellers.get(digest) ?? new Set()).add(client));
  const isToldByMost = (digest: string, { membership }: AgreedState) => {
    const seats = membership.seats.filter(({ client }) => client !== self);
    const count = seats.filter(
      ({ client, identity }) => tellers.get(digest)?.has(client) && keys.get(client) === identity,
    ).length;
    return 2 * count > seats.length;
  };
  let found: ToldState | null = null;
  let newest = own?.round ?? -1;
  for (const { state, frame, digest } of states) {
    if (state.rules !== rules || state.round <= newest) continue;
    const isMost = isToldByMost(digest, state) && (own === null || isToldByMost(digest, own));
    const isAgreed = digest === wanted || isMost;
    if (isAgreed || (own !== null && (await isProven(known, own, state, frame)))) {
      found = { state, frame };
      newest = state.round;
    }
  }
  return found;
}

async function isVerdict(turn: TurnOfRound, said: SignedStatement, state: string): Promise<boolean> {
  if (said.phase !== "verdict") return false;
  const body = decodeBody(said.body);
  return body?.type === "verdict" && body.state === state && (await isSaid(turn, said));
}
