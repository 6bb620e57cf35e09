/**
 * Makes the mean of a part, or a member's numbers about it, again from the bytes that members committed to. The twin,
 * with the reasons, is backend/protocols/mesh/byzantine/evidence/remade_part.py.
 */

import { sameBytes, toHex } from "../../../../core/crypto/bytes";
import { hash } from "../../../../core/crypto/hash";
import { tossedCoin } from "../../../../core/crypto/statements";
import { meanOfPart, partNumbers, partValues } from "../../../../core/numerics/butterfly/part-values";
import { partRadius } from "../checks";
import { coinSeed } from "../drawn-work";
import type { TurnPhase } from "../statement-bodies";
import { PHASES } from "../turn-log";
import type { TurnStatements } from "../turn-statements";
import { type BanEvidence, EvidenceError } from "./ban-evidence";
import { type EvidenceTurn, impliedStatements, isMost } from "./evidence-turn";

const VALUE_BYTES = 4;
const BEFORE_NUMBERS: readonly TurnPhase[] = ["made", "reveal", "check"];

/** Throws EvidenceError unless the accused signed another mean of its part than its pieces have. */
export function requireWrongMean(evidence: BanEvidence, turn: EvidenceTurn): void {
  const statements = workedStatements(evidence, turn);
  const { client, part } = evidence;
  const { workers } = statements.roles;
  if (workers[part] !== client)
    throw new EvidenceError(`Part ${part} is ${workers[part]}'s, not the accused's.`);
  if (!phasesOf(turn, client).includes("made") || countOf(turn) !== turn.active.length + 1)
    throw new EvidenceError("A wrong mean needs all commitments and the accused's mean, and nothing else.");
  requireHeard(turn, client, "made");
  const pieces = piecesOf(statements, part);
  const contents = contentsOf(evidence, new Set(pieces.values()));
  const size = sizeOf(turn, pieces, contents, client);
  const values = [...pieces.values()].map((one) => partValues(contents.get(one) as Uint8Array, size));
  const mean = remadeMean(values, partRadius(turn.state.radius, size));
  if (!mean.every(Number.isFinite))
    throw new EvidenceError("The mean of its pieces is not finite: its bits differ between machines.");
  const bytes = new DataView(new ArrayBuffer(VALUE_BYTES * size));
  mean.forEach((value, i) => {
    bytes.setFloat32(VALUE_BYTES * i, value, true);
  });
  if (toHex(hash(new Uint8Array(bytes.buffer))) === statements.means().get(client))
    throw new EvidenceError("The mean is right: made again of its pieces it has the same bits.");
}

/** Throws EvidenceError unless the accused signed other numbers than its piece of the part has. */
export function requireWrongCheck(evidence: BanEvidence, turn: EvidenceTurn): void {
  const statements = workedStatements(evidence, turn);
  const { client, part } = evidence;
  const said = phasesOf(turn, client);
  if (countOf(turn) !== 3 * turn.active.length + 1 || !BEFORE_NUMBERS.every((phase) => said.includes(phase)))
    throw new EvidenceError("Wrong numbers need all statements before them and the accused's, and no other.");
  for (const phase of BEFORE_NUMBERS) requireHeard(turn, client, phase);
  const numbers = statements.checks().get(client);
  if (numbers === undefined || ["made", "reveal"].some((one) => statements.lacking(one as TurnPhase).length))
    throw new EvidenceError("A statement before the accused's numbers is malformed.");
  const pieces = piecesOf(statements, part);
  const own = pieces.get(client) as string;
  const mean = statements.means().get(statements.roles.workers[part] as string) as string;
  const contents = contentsOf(evidence, new Set([mean, own]), pieces.values());
  const size = sizeOf(turn, pieces, contents, client);
  const found = partNumbers(
    [partValues(contents.get(own) as Uint8Array, size)],
    partValues(contents.get(mean) as Uint8Array, size),
    partRadius(turn.state.radius, size),
    coinSeed(toHex(tossedCoin(statements.coins()))),
    part,
  );
  const [product, length] = [found.products[0] as number, found.lengths[0] as number];
  if (!Number.isFinite(product) || !Number.isFinite(length))
    throw new EvidenceError("The numbers of its piece are not finite: their bits differ between machines.");
  if (numbers.products[part] === product && numbers.lengths[part] === length)
    throw new EvidenceError("The numbers are right: computed again they are the same.");
}

/** Returns how many statements there are. */
export function countOf({ log }: EvidenceTurn): number {
  return log.statements().length;
}

function workedStatements(evidence: BanEvidence, turn: EvidenceTurn): TurnStatements {
  const statements = impliedStatements(turn);
  const { workers } = statements.roles;
  if (!workers.includes(evidence.client)) throw new EvidenceError("The accused did not work in this turn.");
  if (evidence.part >= workers.length)
    throw new EvidenceError(`There is no part ${evidence.part} of ${workers.length}.`);
  if (turn.log.twoWords().size > 0)
    throw new EvidenceError("A member said two things: nothing else follows from them.");
  return statements;
}

function phasesOf({ log }: EvidenceTurn, client: string): readonly TurnPhase[] {
  return PHASES.filter((phase) => log.said(phase).has(client));
}

function requireHeard({ log, active }: EvidenceTurn, client: string, phase: TurnPhase): void {
  const heard = log.heardBefore(phase, active);
  if (heard === null || !sameBytes(log.statementOf(phase, client).before, heard))
    throw new EvidenceError(`The accused had not heard these statements when it said '${phase}'.`);
}

function piecesOf(statements: TurnStatements, part: number): ReadonlyMap<string, string> {
  const pieces = [...statements.pieces()];
  return new Map(pieces.map(([worker, digests]) => [worker, digests[part] as string]));
}

/** Returns the bytes by digest. Throws EvidenceError where some lack, or nobody committed to them. */
function contentsOf(
  evidence: BanEvidence,
  needed: ReadonlySet<string>,
  allowed: Iterable<string> = [],
): ReadonlyMap<string, Uint8Array> {
  const contents = new Map(evidence.contents.map((one) => [toHex(hash(one)), one]));
  if (contents.size !== evidence.contents.length || [...needed].some((one) => !contents.has(one)))
    throw new EvidenceError("Bytes of a piece or mean are missing, or others than were committed to.");
  const known = new Set([...needed, ...allowed]);
  if ([...contents.keys()].some((one) => !known.has(one)))
    throw new EvidenceError("It contains bytes that nobody committed to.");
  return contents;
}

/** Returns how many values the part has: as more than half of the seated say, else the accused. */
function sizeOf(
  turn: EvidenceTurn,
  pieces: ReadonlyMap<string, string>,
  contents: ReadonlyMap<string, Uint8Array>,
  client: string,
): number {
  const counts = new Map<number, number>();
  for (const digest of pieces.values()) {
    const found = contents.get(digest)?.length;
    if (found !== undefined) counts.set(found, (counts.get(found) ?? 0) + 1);
  }
  const most = [...counts].find(([, count]) => isMost(turn, count));
  const length = most?.[0] ?? (contents.get(pieces.get(client) as string) as Uint8Array).length;
  if (length === 0 || length % VALUE_BYTES > 0)
    throw new EvidenceError("The pieces do not have the bytes of values.");
  return length / VALUE_BYTES;
}

function remadeMean(values: readonly Float32Array[], radius: number): Float32Array {
  try {
    return meanOfPart(values, radius);
  } catch {
    throw new EvidenceError("Its pieces have no mean.");
  }
}
