/**
 * The state after a round, of what all said in its last turn: the same for everybody who heard the same. The twin is
 * backend/protocols/mesh/byzantine/next_state.py.
 */

import { toHex } from "../../../core/crypto/bytes";
import { tossedCoin } from "../../../core/crypto/statements";
import type { ByzantineTerms } from "../../wire/mesh";
import { measuredRadius, nextRadius } from "./checks";
import { afterRound, identities, type MeshMembership, type RoundFacts } from "./membership";
import { CONVICTED } from "./outcome";
import { isMajority, type TurnRoles } from "./roles";
import type { Removal } from "./round-events";
import { type AgreedState, convictedBy, stateDigest, type UnableMember, type WorkCase } from "./state";
import type { SeenWork, WorkFinding } from "./statement-bodies";
import type { TurnStatements } from "./turn-statements";

type Judgements = ReadonlyMap<string, readonly WorkFinding[]>;

/** So many rounds after it said so, a member that is unable to judge is drawn again. */
const UNABLE_ROUNDS = 20;

/** What the turn added to the last state. */
export interface TurnResult {
  readonly statements: TurnStatements;
  /** Who was removed in earlier turns of the round. */
  readonly removed: ReadonlyMap<string, Removal>;
  /** The sizes of the parts. */
  readonly sizes: readonly number[];
  /** SHA-256 after the outer step. */
  readonly weights: string;
  readonly slots: string;
}

/** Returns the state after the turn of `statements`, which is complete. */
export function nextState(state: AgreedState, terms: ByzantineTerms, result: TurnResult): AgreedState {
  const { statements, sizes, weights, slots } = result;
  const { roles, log } = statements;
  const seen = statements.newcomers().filter(({ identity }) => !state.membership.banned.includes(identity));
  const judged = judgementsOf(statements);
  const audited = auditedIn(state, roles, judged);
  const facts = factsOf(state, result, seen, audited, courtOf(state, roles, judged));
  const works = new Map(roles.workers.map((client) => [client, log.digestOf("commit", client)]));
  for (const { client, commit } of seen) works.set(client, commit);
  const membership = afterRound(state.membership, facts, terms.probation, terms.audits);
  return {
    round: state.round + 1,
    weights,
    slots,
    coin: toHex(tossedCoin(statements.coins())),
    // One worker alone measures none.
    radius:
      terms.radius ?? nextRadius(state.radius, measuredRadius([...statements.checks().values()], sizes)),
    membership,
    works: [...works.keys()].sort().map((client) => ({ client, commit: works.get(client) as string })),
    court: audited.court,
    doubtful: audited.doubtful,
    suspected: audited.suspected,
    rules: state.rules,
    before: stateDigest(state),
    said: log.transcript(roles.active),
    unable: unableIn(state, roles, judged, membership),
  };
}

function factsOf(
  state: AgreedState,
  { statements, removed }: TurnResult,
  seen: readonly SeenWork[],
  { passed, failed, court, doubtful, suspected }: Audited,
  ruling: CourtRuling,
): RoundFacts {
  const known = identities(state.membership);
  const removedFor = (applies: (why: Removal) => boolean) =>
    [...removed].filter(([, why]) => applies(why)).map(([client]) => client);
  return {
    number: state.round + 1,
    worked: [...statements.roles.workers, ...seen.map(({ client }) => client)],
    absent: removedFor((why) => why === "absent"),
    unrevealed: removedFor((why) => why === "unrevealed"),
    convicted: [...removedFor((why) => CONVICTED.has(why)), ...ruling.convicted],
    passed,
    failed: [...failed, ...ruling.failed],
    pending: [...court, ...doubtful, ...suspected].map(({ target }) => target),
    withheld: ruling.withheld,
    entered: seen
      .filter(({ client }) => !known.has(client))
      .map(({ client, identity }) => ({ client, identity, rounds: 1, audits: [] })),
  };
}

function judgementsOf(statements: TurnStatements): Judgements {
  return new Map([...statements.of("commit")].map(([client, { judgements }]) => [client, judgements]));
}

/** Who passed at which validator, which newcomers failed, and what others are to judge again. */
interface Audited {
  readonly passed: [client: string, validator: string][];
  readonly failed: string[];
  readonly court: WorkCase[];
  readonly doubtful: WorkCase[];
  readonly suspected: WorkCase[];
}

function auditedIn(state: AgreedState, { audits }: TurnRoles, judged: Judgements): Audited {
  const found: Audited = { passed: [], failed: [], court: [], doubtful: [], suspected: [] };
  const seats = new Set(state.membership.seats.map(({ client }) => client));
  for (const [validator, one] of audits) {
    const result = findingAbout(judged.get(validator) ?? [], one);
    const isOne = ({ target, round }: WorkCase) => target === one.target && round === one.round;
    const accuser = state.suspected.find(isOne)?.validator;
    const isSecond = accuser !== undefined || state.doubtful.some(isOne);
    if (result === "same" && accuser !== undefined)
      found.court.push({ ...one, validator: accuser, second: validator });
    else if (result === "same") found.passed.push([one.target, validator]);
    else if (result === "doubtful" && !isSecond) found.doubtful.push(one);
    else if (result !== "other" && result !== "missing") continue;
    else if (seats.has(one.target)) found.court.push(result === "other" ? one : { ...one, validator: "" });
    else if (isSecond) found.failed.push(one.target);
    else if (result === "other") found.suspected.push(one);
    else found.doubtful.push(one);
  }
  return found;
}

/** Whom the court convicts, which newcomers' work it found wrong, and whose was shown to no majority. */
interface CourtRuling {
  readonly convicted: string[];
  readonly failed: string[];
  readonly withheld: string[];
}

function courtOf(state: AgreedState, roles: TurnRoles, judged: Judgements): CourtRuling {
  const ruling: CourtRuling = { convicted: [], failed: [], withheld: [] };
  for (const one of state.court) {
    const findings = [...judged.values()].map((judgements) => findingAbout(judgements, one));
    const found = (["other", "same", "missing"] as const).find((result) =>
      isMajority(roles, findings.filter((each) => each === result).length),
    );
    const convicted = convictedBy(one, found ?? null);
    if (convicted !== "") ruling.convicted.push(convicted);
    if (found === "other" && one.second !== "") ruling.failed.push(one.target);
    if (found === "missing") ruling.withheld.push(one.target);
  }
  return ruling;
}

/** Returns the members that said lately that they cannot judge, and have judged nothing since. */
function unableIn(
  state: AgreedState,
  roles: TurnRoles,
  judged: Judgements,
  { seats }: MeshMembership,
): UnableMember[] {
  const number = state.round + 1;
  const lately = state.unable.filter(({ round }) => number - round < UNABLE_ROUNDS);
  const since = new Map(lately.map(({ client, round }) => [client, round]));
  for (const [client, judgements] of judged) {
    const own = roles.audits.get(client) ?? [];
    const found = state.court.concat(own).map((one) => findingAbout(judgements, one));
    if (found.includes("unable")) since.set(client, number);
    else if (found.some((one) => one !== null && one !== "missing")) since.delete(client);
  }
  return seats.flatMap(({ client }) => {
    const round = since.get(client);
    return round === undefined ? [] : { client, round };
  });
}

/** Returns what a member found about the work of a case; null if it did not judge it. */
export function findingAbout(
  judgements: readonly WorkFinding[],
  { target, round }: WorkCase,
): WorkFinding["found"] | null {
  return judgements.find((one) => one.target === target && one.round === round)?.found ?? null;
}
