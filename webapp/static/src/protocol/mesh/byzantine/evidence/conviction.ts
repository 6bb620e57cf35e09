/**
 * Checks evidence against a member: says whom it convicts of what, or why it convicts nobody. The twin is
 * backend/protocols/mesh/byzantine/evidence/conviction.py; tests/contract/vectors/evidence.json binds both.
 */

import { toHex } from "../../../../core/crypto/bytes";
import { type BanEvidence, decodeEvidence, EvidenceError } from "./ban-evidence";
import { convictingCase } from "./court-verdict";
import { type EvidenceTurn, identitiesOf, readTurn } from "./evidence-turn";
import { countOf, requireWrongCheck, requireWrongMean } from "./remade-part";

/**
 * Whom evidence convicts: the member whose Ed25519 key is `identity` (hexadecimal), called `client` in the mesh. `round`
 * is that of what it did, `phase` that of its two statements, `part` that of a mean. In a case before the court
 * `accuser` found the work of `target` to be other work; one of them is the member.
 */
export interface Conviction {
  readonly task: string;
  readonly run: string;
  readonly kind: BanEvidence["kind"];
  readonly client: string;
  readonly identity: string;
  readonly round: number;
  readonly phase: string;
  readonly part: number;
  readonly accuser: string;
  readonly target: string;
}

/**
 * Returns whom the bytes of an evidence file convict, and of what. Throws EvidenceError, with the reason, if they
 * convict nobody; or of something in another task or run than those given.
 */
export async function convict(data: Uint8Array, task?: string, run?: string): Promise<Conviction> {
  return checkEvidence(decodeEvidence(data), task, run);
}

/** Returns whom evidence convicts, as `convict` does. */
async function checkEvidence(evidence: BanEvidence, task?: string, run?: string): Promise<Conviction> {
  if ((task ?? evidence.task) !== evidence.task || (run ?? evidence.run) !== evidence.run)
    throw new EvidenceError(`It is about another task or run: ${evidence.task}, ${evidence.run}.`);
  if (evidence.kind !== "majority" && evidence.turns.length !== 1)
    throw new EvidenceError("It contains statements of several turns, which need one.");
  const identity = toHex(evidence.identity);
  const turns: EvidenceTurn[] = [];
  for (const one of evidence.turns) turns.push(await readTurn(evidence, one));
  if (turns.some(({ state }) => identitiesOf(state).get(evidence.client) !== identity))
    throw new EvidenceError("The accused has another key than the state in it says.");
  const { task: ofTask, run: ofRun, kind, client } = evidence;
  return { task: ofTask, run: ofRun, kind, client, identity, ...deedOf(evidence, turns) };
}

type Deed = Pick<Conviction, "round" | "phase" | "part" | "accuser" | "target">;

function deedOf(evidence: BanEvidence, turns: readonly EvidenceTurn[]): Deed {
  const turn = turns[0] as EvidenceTurn;
  const deed = { round: turn.state.round + 1, phase: "", part: evidence.part, accuser: "", target: "" };
  switch (evidence.kind) {
    case "two-words":
      return { ...deed, phase: phaseOfTwoWords(evidence, turn) };
    case "wrong-mean":
      requireWrongMean(evidence, turn);
      return deed;
    case "wrong-check":
      requireWrongCheck(evidence, turn);
      return deed;
    case "majority": {
      const { round, validator, target } = convictingCase(evidence, turns);
      return { ...deed, round, accuser: validator, target };
    }
  }
}

function phaseOfTwoWords(evidence: BanEvidence, turn: EvidenceTurn): string {
  if (evidence.contents.length > 0 || evidence.part > 0)
    throw new EvidenceError("Two statements need no bytes.");
  const words = turn.log.twoWords().get(evidence.client);
  if (words === undefined || countOf(turn) !== 2)
    throw new EvidenceError("The accused did not say two different things in one phase.");
  return words[0].phase;
}
