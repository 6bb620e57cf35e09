/**
 * Reads the signed statements of a turn that evidence contains, and what they are bound to. The twin is
 * backend/protocols/mesh/byzantine/evidence/evidence_turn.py.
 */

import { toHex } from "../../../../core/crypto/bytes";
import { isSaid, type SignedStatement } from "../../../../core/crypto/statements";
import { present } from "../membership";
import { basisOf, type TurnRoles } from "../roles";
import type { AgreedState } from "../state";
import { TurnLog } from "../turn-log";
import { TurnStatements } from "../turn-statements";
import { type BanEvidence, EvidenceError, readState, type TurnSaid } from "./ban-evidence";

/** A turn of the round after `state`, with statements that are truly signed, each by an active member. */
export interface EvidenceTurn {
  readonly state: AgreedState;
  readonly seated: readonly string[];
  readonly active: readonly string[];
  readonly log: TurnLog;
}

/** Returns a turn of the evidence. Throws EvidenceError for a statement that nobody made in this turn. */
export async function readTurn(evidence: BanEvidence, turnSaid: TurnSaid): Promise<EvidenceTurn> {
  const state = readState(turnSaid.state);
  const seated = present(state.membership, state.round + 1);
  const active = seated.filter((one) => turnSaid.active.includes(one));
  if (active.join() !== turnSaid.active.join())
    throw new EvidenceError("Who took part in the turn had no seat in it.");
  const [round, group] = turnSaid.attempt as readonly [number, number];
  const turn = {
    task: evidence.task,
    run: evidence.run,
    round: state.round + 1,
    turn: turnSaid.turn,
    basis: basisOf(state, [round, group], active),
  };
  const identities = identitiesOf(state);
  const log = new TurnLog(turn, new Map(active.map((one) => [one, identities.get(one) as string])));
  const known = new Map([...log.identities()].map(([client, identity]) => [identity, client]));
  for (const one of turnSaid.said) {
    const client = known.get(toHex(one.identity));
    if (client === undefined)
      throw new EvidenceError(`A statement is by ${toHex(one.identity)}, who took no part in the turn.`);
    if (!(await isSaid(turn, statementOf(one))))
      throw new EvidenceError(`${client} did not sign the statement '${one.phase}' in this turn.`);
    if (log.add(statementOf(one)) === null)
      throw new EvidenceError(`The statement '${one.phase}' of ${client} is there twice, or malformed.`);
  }
  return { state, seated, active, log };
}

/**
 * Returns the statements of a turn with the roles that all `commit` statements imply: who works commits to a piece for
 * each worker, and a validator to none. Throws EvidenceError where they contradict each other, or one lacks.
 */
export function impliedStatements({ seated, active, log }: EvidenceTurn): TurnStatements {
  const said = log.said("commit");
  const workers = active.filter((one) => {
    const body = said.get(one);
    return body?.type === "commit" && body.pieces.length > 0;
  });
  const roles: TurnRoles = { seated, active, workers, audits: new Map() };
  const found = new TurnStatements(log, roles);
  const [lacking] = found.lacking("commit");
  if (lacking !== undefined)
    throw new EvidenceError(`What ${lacking} committed to is missing, or has another number of pieces.`);
  return found;
}

/** Returns the identity of each client that has a seat or is a newcomer. */
export function identitiesOf({ membership }: AgreedState): Map<string, string> {
  return new Map([...membership.seats, ...membership.newcomers].map((one) => [one.client, one.identity]));
}

/** Whether so many are more than half of all seated. */
export function isMost({ seated }: EvidenceTurn, count: number): boolean {
  return 2 * count > seated.length;
}

function statementOf(one: TurnSaid["said"][number]): SignedStatement {
  return {
    identity: new Uint8Array(one.identity),
    phase: one.phase,
    before: new Uint8Array(one.before),
    body: new Uint8Array(one.body),
    signature: new Uint8Array(one.signature),
  };
}
