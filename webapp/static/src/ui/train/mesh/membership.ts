/** Describes in words a device's membership in a mesh whose members check each other. Pure. */

import type { ByzantineView, MemberStanding } from "../../../client/mesh/byzantine/view";
import { say } from "../../../i18n";
import { participantName } from "../../../i18n/texts/volunteers/participant-names";
import type { StatusWords } from "../texts";

const words = say.membership;

/** Returns what the device checks in `round`, as the page names it; null if it checks nothing. */
export function checkingWords({ checking }: ByzantineView, round: string): StatusWords | null {
  if (checking === null) return null;
  return [words.checking(participantName(checking.target)), words.doneAgain(round, checking.round)];
}

/** Returns the sentences on the device's place, what it checked, and who was removed last. */
export function membershipWords(view: ByzantineView): string {
  const { standing, findings, banned, evidence, removed, problem } = view;
  const last = removed.at(-1);
  const sentences = [
    standing && placeWords(standing),
    findings.length > 0 && words.checked(findings.length),
    last && words.removed(participantName(last.client), words.why[last.why]),
    banned > 0 && standing?.type !== "banned" && words.bannedOthers(banned),
    evidence.length > 0 && words.evidence(evidence.length),
    problem && words.unable(problem),
  ];
  return sentences.filter(Boolean).join(" ");
}

function placeWords(standing: MemberStanding): string {
  if (standing.type !== "probation") return words[standing.type];
  const { neededRounds, neededAudits } = standing;
  const rounds = Math.min(standing.rounds, neededRounds);
  if (neededAudits === 0) return words.probationOfRounds(rounds, neededRounds);
  return words.probation(rounds, neededRounds, Math.min(standing.audits, neededAudits), neededAudits);
}
