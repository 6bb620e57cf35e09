/**
 * What more than half of the seated members found about a member's work, and that it belongs to their mesh. The twin,
 * with the reasons, is backend/protocols/mesh/byzantine/evidence/court_verdict.py.
 */

import { sameBytes } from "../../../../core/crypto/bytes";
import { type AgreedState, convicting, stateDigest, type WorkCase } from "../state";
import { type BanEvidence, EvidenceError } from "./ban-evidence";
import { type EvidenceTurn, isMost } from "./evidence-turn";
import { countOf } from "./remade-part";

/** Returns the case in which the court convicted the accused. Throws EvidenceError if it did not. */
export function convictingCase(evidence: BanEvidence, turns: readonly EvidenceTurn[]): WorkCase {
  if (evidence.contents.length > 0 || evidence.part > 0)
    throw new EvidenceError("A majority's verdict contains no bytes.");
  const anchor = evidence.turns[0]?.said[0]?.identity;
  const last = turns[turns.length - 1] as EvidenceTurn;
  if (anchor === undefined || !sameBytes(anchor, evidence.identity))
    throw new EvidenceError("Nothing shows that the accused was a member of this mesh.");
  turns.slice(1).forEach((following, before) => {
    requireFollows(turns[before] as EvidenceTurn, following.state, before === 0 ? 1 : 0);
  });
  for (const one of last.state.court) {
    const judges = judgesOf(last, one, convicting(one, evidence.client));
    const shown = new Set(turns.length === 1 ? [...judges, evidence.client] : judges);
    if (isMost(last, judges.length) && countOf(last) === shown.size) return one;
  }
  throw new EvidenceError("No more than half of the members found the accused at fault.");
}

function judgesOf({ log }: EvidenceTurn, one: WorkCase, wanted: string | null): readonly string[] {
  return [...log.said("commit")].flatMap(([client, body]) => {
    if (body.type !== "commit" || wanted === null) return [];
    const judged = body.judgements.find(({ target, round }) => target === one.target && round === one.round);
    return judged?.found === wanted ? [client] : [];
  });
}

/** Throws EvidenceError unless the next state is the same, or more than half signed it; so many others may be there. */
function requireFollows(turn: EvidenceTurn, next: AgreedState, others: number): void {
  const digest = stateDigest(next);
  const before = stateDigest(turn.state);
  const useless = new EvidenceError("It contains statements that show nothing.");
  if (digest === before) {
    if (countOf(turn) !== others) throw useless;
    return;
  }
  const bodies = [...turn.log.said("verdict").values()];
  const signed = bodies.filter((body) => body.type === "verdict" && body.state === digest).length;
  if (next.before !== before || next.round !== turn.state.round + 1 || !isMost(turn, signed))
    throw new EvidenceError("No more than half of the members agreed on the state with the accusation.");
  if (countOf(turn) > signed + others) throw useless;
}
