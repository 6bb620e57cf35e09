/**
 * What follows from an exchange, after which all honest members have the same statements: a pure function of them.
 * The twin is backend/protocols/mesh/byzantine/outcome.py.
 */

import { isMajority } from "./roles";
import type { Removal } from "./round-events";
import type { BodyOf, PartFinding, TurnPhase } from "./statement-bodies";
import { numbered, PHASES } from "./turn-log";
import type { TurnStatements } from "./turn-statements";

/** Evidence that anybody can check; for other reasons members lose less. */
export const CONVICTED: ReadonlySet<Removal> = new Set(["two-words", "wrong-mean", "wrong-check"]);

export type Outcome =
  /** More than half signed this state, and no other. */
  | { readonly type: "decided"; readonly state: string }
  /** The turn is done again without these clients. */
  | { readonly type: "removed"; readonly why: ReadonlyMap<string, Removal> }
  /**
   * Nobody is at fault: the turn continues. Those `excused` lacked bytes or time; `settled` parts are right. All members
   * show their pieces of `deferred` parts from the begin of the next exchange on: this one left no time for it.
   */
  | {
      readonly type: "resumed";
      readonly excused: readonly string[];
      readonly settled: readonly number[];
      readonly deferred: readonly number[];
    };

/** Returns the name of a client that was given time in a phase. */
export function excuse(phase: TurnPhase, client: string): string {
  return `${phase} ${client}`;
}

/**
 * Returns the outcome of an exchange. Those in `excused` were given time before; `settled` parts were found right, and
 * `deferred` ones are disputed since its begin.
 */
export function outcomeOf(
  statements: TurnStatements,
  exchange: number,
  excused: ReadonlySet<string>,
  settled: ReadonlySet<number>,
  deferred: ReadonlySet<number>,
): Outcome {
  const { roles, log } = statements;
  const signed = [...statements.states()].filter(([, count]) => isMajority(roles, count));
  if (signed.length === 1) return { type: "decided", state: (signed[0] as [string, number])[0] };
  const double = [...log.twoWords().keys()].sort().filter((client) => roles.active.includes(client));
  // Which of two words was heard first differs, so nothing else follows from them.
  if (double.length > 0) return { type: "removed", why: blame(double, "two-words") };
  const why = new Map<string, Removal>();
  const right: number[] = [];
  const later: number[] = [];
  for (const part of withParts(disputedParts(statements, exchange), deferred)) {
    if (settled.has(part)) continue;
    const wrong = wrongOf(statements, exchange, part);
    const owner = roles.workers[part] as string;
    // A liar may have withheld numbers, or its doubt, until there was no time left to show pieces.
    if (wrong === null && !deferred.has(part)) later.push(part);
    // All asked for the pieces in time: its owner showed them to some only.
    else if (wrong === null) why.set(owner, why.get(owner) ?? "absent");
    else if (wrong.size === 0) right.push(part);
    else for (const [client, reason] of wrong) why.set(client, reason);
  }
  const lacking = statements.earliestLacking();
  if (why.size > 0) return { type: "removed", why };
  if (right.length > 0 || lacking === null)
    return { type: "resumed", excused: [], settled: right, deferred: later };
  return absences(statements, exchange, lacking, excused, later);
}

/** Returns these parts together, ascending. */
export function withParts(disputed: readonly number[], deferred: ReadonlySet<number>): readonly number[] {
  return [...new Set([...disputed, ...deferred])].sort((a, b) => a - b);
}

function absences(
  statements: TurnStatements,
  exchange: number,
  [phase, clients]: readonly [TurnPhase, readonly string[]],
  excused: ReadonlySet<string>,
  later: readonly number[],
): Outcome {
  const why = new Map<string, Removal>();
  const given: string[] = [];
  for (const client of clients) {
    const call = callOf(statements, exchange, client);
    const isBehind = call !== null && PHASES.indexOf(call.phase) < PHASES.indexOf(phase);
    const doubts = call?.disputed.some((part) => later.includes(part)) ?? false;
    const blamed = withheld(statements, exchange, call);
    // It waits for pieces, or came to this phase by the exchange: there may have been no time for it.
    if (doubts || (isBehind && !excused.has(excuse(phase, client)))) given.push(excuse(phase, client));
    else if (blamed.length > 0) for (const one of blamed) why.set(one, "absent");
    else why.set(client, phase === "reveal" ? "unrevealed" : "absent");
  }
  if (why.size > 0) return { type: "removed", why };
  return { type: "resumed", excused: given, settled: [], deferred: later };
}

/** Returns what a client said when the exchange began; null if it said nothing. */
function callOf(statements: TurnStatements, exchange: number, client: string): BodyOf<"call"> | null {
  const call = statements.log.said(numbered("call", exchange)).get(client);
  return call?.type === "call" ? call : null;
}

/** Returns who committed to bytes that the caller lacks, and shows them to no majority. */
function withheld(
  statements: TurnStatements,
  exchange: number,
  call: BodyOf<"call"> | null,
): readonly string[] {
  if (call === null || call.lacks.length === 0) return [];
  const shown = [...shownOf(statements, exchange).values()].map(({ holds }) => new Set(holds));
  const authors = authorsOf(statements);
  const blamed = call.lacks
    .filter((digest) => !isMajority(statements.roles, shown.filter((held) => held.has(digest)).length))
    .flatMap((digest) => authors.get(digest) ?? []);
  return [...new Set(blamed)].sort();
}

function authorsOf(statements: TurnStatements): Map<string, string> {
  const authors = new Map<string, string>();
  for (const [client, digests] of statements.pieces()) {
    for (const digest of digests) authors.set(digest, client);
  }
  for (const [client, digest] of statements.means()) authors.set(digest, client);
  return authors;
}

function shownOf(statements: TurnStatements, exchange: number): Map<string, BodyOf<"shown">> {
  const found = new Map<string, BodyOf<"shown">>();
  for (const [client, body] of statements.log.said(numbered("shown", exchange))) {
    if (statements.roles.active.includes(client) && body.type === "shown") found.set(client, body);
  }
  return found;
}

/** Returns the parts whose mean an active member doubts in an exchange, once all made theirs. */
export function disputedParts(statements: TurnStatements, exchange: number): readonly number[] {
  const { log, roles } = statements;
  if (statements.lacking("check").length > 0) return [];
  const doubted = [...log.said(numbered("call", exchange))].flatMap(([client, body]) =>
    roles.active.includes(client) && body.type === "call" ? body.disputed : [],
  );
  return [...new Set(doubted)].filter((part) => part < roles.workers.length).sort((a, b) => a - b);
}

/** Returns whom the mean of a part, made again, convicts; null if no finding is that of more than half. */
function wrongOf(statements: TurnStatements, exchange: number, part: number): Map<string, Removal> | null {
  const { workers } = statements.roles;
  const counts = new Map<string, number>();
  for (const { findings } of shownOf(statements, exchange).values()) {
    const found = findings.filter((one) => one.part === part).at(-1);
    const key = found && found.wrong !== null ? keyOf(found) : null;
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const owner = workers[part] as string;
  for (const [key, count] of counts) {
    if (!isMajority(statements.roles, count)) continue;
    const [places, isWrongMean] = JSON.parse(key) as [number[], boolean];
    const found = blame(
      places.map((place) => workers[place]).filter((one) => one !== undefined),
      "wrong-check",
    );
    return isWrongMean ? found.set(owner, "wrong-mean") : found;
  }
  return null;
}

function keyOf({ wrong, wrong_mean }: PartFinding): string {
  return JSON.stringify([wrong, wrong_mean]);
}

function blame(clients: readonly string[], why: Removal): Map<string, Removal> {
  return new Map(clients.map((client) => [client, why]));
}
