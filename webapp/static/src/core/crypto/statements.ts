/**
 * What members of a Byzantine mesh say in a round: signed, and each bound to what its sender said before. The twin,
 * with the reasons, is backend/crypto/statements.py; tests/contract/vectors/statements.json binds both.
 */

import { type Bytes, fields, fromHex, integer, sameBytes, utf8 } from "./bytes";
import { hash } from "./hash";
import { type Identity, sign, verify } from "./keys";

/** What the first statement of a turn follows. */
export const NOTHING_BEFORE: Bytes = new Uint8Array(32);

/**
 * One try at a round; `run` names the run of the task, `basis` the state that the round begins with, and who takes part
 * in the turn (both SHA-256, hexadecimal).
 */
export interface TurnOfRound {
  readonly task: string;
  readonly run: string;
  readonly round: number;
  readonly turn: number;
  readonly basis: string;
}

/** What one member says about one phase. `before` is the digest of all statements that it follows. */
export interface Statement {
  readonly identity: Bytes;
  readonly phase: string;
  readonly before: Bytes;
  readonly body: Bytes;
}

export interface SignedStatement extends Statement {
  readonly signature: Bytes;
}

/** Returns the bytes that a member signs. */
export function signedBytes(turn: TurnOfRound, { identity, phase, before, body }: Statement): Bytes {
  return fields(
    utf8("minga/mesh/1/statement"),
    utf8(turn.task),
    fromHex(turn.run),
    integer(turn.round),
    integer(turn.turn),
    fromHex(turn.basis),
    identity,
    utf8(phase),
    before,
    body,
  );
}

/** Returns the SHA-256 of what is signed. */
export function statementDigest(turn: TurnOfRound, statement: Statement): Bytes {
  return hash(signedBytes(turn, statement));
}

/** Returns the bytes that another member signs when it passes a statement on. */
export function relayedBytes(turn: TurnOfRound, statement: Statement): Bytes {
  return fields(utf8("minga/mesh/1/relayed"), statementDigest(turn, statement));
}

/** Returns the statement, signed by its sender. */
export async function signed(
  identity: Identity,
  turn: TurnOfRound,
  statement: Statement,
): Promise<SignedStatement> {
  return { ...statement, signature: await sign(identity, signedBytes(turn, statement)) };
}

/** Returns the signed statement of the member with this identity. */
export function say(
  identity: Identity,
  turn: TurnOfRound,
  { phase, before, body }: Omit<Statement, "identity">,
): Promise<SignedStatement> {
  return signed(identity, turn, { identity: identity.publicKey, phase, before, body });
}

/** Returns the signature of a member that passes the statement on. */
export function relay(identity: Identity, turn: TurnOfRound, statement: Statement): Promise<Bytes> {
  return sign(identity, relayedBytes(turn, statement));
}

/** Whether the member with this identity passed exactly this statement of this turn on. */
export function isRelayed(
  turn: TurnOfRound,
  statement: Statement,
  identity: Bytes,
  signature: Bytes,
): Promise<boolean> {
  return verify(identity, signature, relayedBytes(turn, statement));
}

/** Whether the member signed exactly this statement in this turn. */
export function isSaid(turn: TurnOfRound, statement: SignedStatement): Promise<boolean> {
  return verify(statement.identity, statement.signature, signedBytes(turn, statement));
}

/** Whether one member said two things about one phase: nobody who follows the protocol does. */
export async function areTwoWords(
  turn: TurnOfRound,
  one: SignedStatement,
  other: SignedStatement,
): Promise<boolean> {
  const isSame = sameBytes(one.identity, other.identity) && one.phase === other.phase;
  const differ = !(sameBytes(one.before, other.before) && sameBytes(one.body, other.body));
  return isSame && differ && (await isSaid(turn, one)) && (await isSaid(turn, other));
}

/**
 * Returns the SHA-256 of all statements of a phase (their digests, by client), that the next follow: nobody can say later
 * that its sender knew other ones.
 */
export function heardDigest(statements: readonly Bytes[]): Bytes {
  return hash(fields(utf8("minga/mesh/1/heard"), ...statements));
}

/** Returns the commitment of a member to its part of the toss (Blum 1983); coin and salt have 32 bytes. */
export function coinCommitment(client: string, coin: Uint8Array, salt: Uint8Array): Bytes {
  return hash(fields(utf8("minga/mesh/1/coin"), utf8(client), coin, salt));
}

/** Returns the coin that members tossed: a hash of all parts, by client. */
export function tossedCoin(coins: ReadonlyMap<string, Uint8Array>): Bytes {
  const clients = [...coins.keys()].sort();
  const parts = clients.flatMap((client) => [utf8(client), coins.get(client) as Uint8Array]);
  return hash(fields(utf8("minga/mesh/1/toss"), ...parts));
}
