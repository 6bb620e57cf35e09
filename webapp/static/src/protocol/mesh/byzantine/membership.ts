/**
 * Who has a seat in a Byzantine mesh: earned by checked work, lost by absence, banned on evidence. Pure functions;
 * identities are hexadecimal. The twin, with the reasons, is backend/protocols/mesh/byzantine/membership.py.
 */

export const MOST_SEATS = 32;
/** Names cost nothing, and every state has them all. */
const MOST_NEWCOMERS = 128;
const REST_ROUNDS = 5;
const MOST_ABSENCES = 3;

/** A member whose work counts and who votes; `absences` are the rounds in which it was missing. */
export interface SeatedMember {
  readonly client: string;
  readonly identity: string;
  readonly absences: readonly number[];
}

/**
 * A member on probation: it worked in so many `rounds`. `audits` are the places, among the seats of the same state, of
 * the members that found its work right.
 */
export interface Newcomer {
  readonly client: string;
  readonly identity: string;
  readonly rounds: number;
  readonly audits: readonly number[];
}

/** The seats and newcomers of a mesh, each ordered by client; `banned` are identities, sorted. */
export interface MeshMembership {
  readonly seats: readonly SeatedMember[];
  readonly newcomers: readonly Newcomer[];
  readonly banned: readonly string[];
}

/**
 * What members did in round `number`, as all agreed: lists of clients, and those who `entered`. Who `passed` stands with
 * the validator that found its work right; that of those in `pending` is judged again.
 */
export interface RoundFacts {
  readonly number: number;
  readonly worked: readonly string[];
  readonly absent: readonly string[];
  readonly unrevealed: readonly string[];
  readonly convicted: readonly string[];
  readonly passed: readonly (readonly [client: string, validator: string])[];
  readonly failed: readonly string[];
  readonly pending: readonly string[];
  readonly withheld: readonly string[];
  readonly entered: readonly Newcomer[];
}

/** Returns the identity of each client that has a seat or is a newcomer. */
export function identities({ seats, newcomers }: MeshMembership): Map<string, string> {
  return new Map([...seats, ...newcomers].map(({ client, identity }) => [client, identity]));
}

/** Returns the clients with a seat that do not rest in round `number`. */
export function present({ seats }: MeshMembership, number: number): readonly string[] {
  return seats.filter((seat) => !rests(seat, number)).map(({ client }) => client);
}

/** Returns how many members must find a newcomer's work right: `audits`, or a majority of fewer seats. */
export function auditsNeeded(seats: number, audits: number): number {
  return Math.min(audits, (seats >> 1) + 1);
}

function rests({ absences }: SeatedMember, number: number): boolean {
  const last = absences.at(-1);
  return last !== undefined && number <= last + REST_ROUNDS;
}

/**
 * Returns the membership after a round; `probation` rounds and audits by so many members earn a seat, or by a majority
 * of fewer. Of more newcomers than a state may have, those stay that worked in this round, passed most audits and worked
 * most.
 */
export function afterRound(
  before: MeshMembership,
  facts: RoundFacts,
  probation: number,
  audits: number,
): MeshMembership {
  const known = identities(before);
  const taken = new Set(known.values());
  const convicted = facts.convicted.flatMap((client) => known.get(client) ?? []);
  const banned = [...new Set([...before.banned, ...convicted])].sort();
  const lost = new Set([...facts.unrevealed, ...facts.convicted, ...facts.withheld]);
  const kept = before.seats.flatMap((seat) =>
    lost.has(seat.client) ? [] : (afterAbsence(seat, facts, probation) ?? []),
  );
  const entered = facts.entered.filter(({ client, identity }) => !known.has(client) && !taken.has(identity));
  const keptClients = kept.map(({ client }) => client);
  const newcomers = [
    ...before.newcomers.map((one) => worked(one, before, facts, keptClients)),
    ...entered,
  ].filter(({ client, identity }) => !lost.has(client) && !banned.includes(identity));
  const needed = auditsNeeded(kept.length, audits);
  const ready = newcomers
    .filter((one) => one.rounds >= probation && one.audits.length >= needed)
    .filter(({ client }) => !facts.pending.includes(client))
    .sort((a, b) => b.rounds - a.rounds || compareTexts(a.client, b.client));
  const seated = ready.slice(0, Math.max(0, MOST_SEATS - kept.length));
  const seats = byClient([
    ...kept,
    ...seated.map(({ client, identity }): SeatedMember => ({ client, identity, absences: [] })),
  ]);
  const places = kept.map((seat) => seats.indexOf(seat));
  const isIdle = ({ client }: Newcomer) => Number(!facts.worked.includes(client));
  const left = newcomers
    .filter((one) => !seated.includes(one))
    .sort(
      (a, b) =>
        isIdle(a) - isIdle(b) ||
        b.audits.length - a.audits.length ||
        b.rounds - a.rounds ||
        compareTexts(a.client, b.client),
    );
  return {
    seats,
    newcomers: byClient(left.slice(0, MOST_NEWCOMERS)).map((one) => ({
      ...one,
      audits: one.audits.map((place) => places[place] as number),
    })),
    banned,
  };
}

/** Returns the seat with the absences that still count; null if it is lost. */
function afterAbsence(seat: SeatedMember, facts: RoundFacts, probation: number): SeatedMember | null {
  const absences = seat.absences.filter((one) => one > facts.number - probation);
  if (facts.absent.includes(seat.client)) absences.push(facts.number);
  return absences.length >= MOST_ABSENCES ? null : { ...seat, absences };
}

/** Counts a newcomer's round, with audits by those still `seated`; wrong work begins the probation again. */
function worked(
  one: Newcomer,
  before: MeshMembership,
  { failed, passed, worked: workers }: RoundFacts,
  seated: readonly string[],
): Newcomer {
  if (failed.includes(one.client)) return { ...one, rounds: 0, audits: [] };
  const isWorking = workers.includes(one.client);
  const earlier = before.seats.filter((_, place) => one.audits.includes(place)).map(({ client }) => client);
  const now = passed
    .filter(([client]) => isWorking && client === one.client)
    .map(([, validator]) => validator);
  const audits = seated.flatMap((client, place) => ([...earlier, ...now].includes(client) ? [place] : []));
  return { ...one, rounds: one.rounds + Number(isWorking), audits };
}

function byClient<T extends { readonly client: string }>(members: readonly T[]): readonly T[] {
  return [...members].sort((a, b) => compareTexts(a.client, b.client));
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
