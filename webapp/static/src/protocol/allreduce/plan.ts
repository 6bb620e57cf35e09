/**
 * Plans a step of a group from its members' answers: which members stay, which owns each part, which sends each mean.
 * Pure functions, with the checks of an order and of a `begin`. Places number the members, from 0. The twin is
 * backend/protocols/mesh/allreduce/plan.py.
 */

import { sameBytes, toHex } from "../../core/crypto/bytes";
import { isUsableKey } from "../../core/crypto/keys";
import type { GroupOrder } from "../wire/mesh";
import type { Fault, Places } from "./group-events";

/** With two members each could subtract its own values from the sum. */
const LEAST_MASKED = 3;

/** View and step. FIRST is the first step of the first view; NEVER means that the member accepted no step. */
export type Ballot = readonly [view: number, step: number];
export const NEVER: Ballot = [0, 0];
export const FIRST: Ballot = [0, 1];

/** A digest of a part's mean; empty if the mean does not exist. */
export type Digest = Uint8Array;
export const NONE: Digest = new Uint8Array();

/** A member's digests by part; it accepted them together at `ballot`. */
export interface MemberAnswer {
  readonly ballot: Ballot;
  readonly parts: readonly Digest[];
  readonly weights: readonly number[];
}
export type Answers = ReadonlyMap<number, MemberAnswer>;

/**
 * One step of a group; the fields are those of the frame `config`. Only in the `first` step do members use the
 * exchange that the order names.
 */
export interface GroupPlan {
  readonly ballot: Ballot;
  readonly alive: Places;
  readonly owners: Places;
  readonly parts: readonly Digest[];
  readonly weights: readonly number[];
  readonly first: boolean;
}

/** The member at `sender` sends its mean of a part to `receiver`, which lacks it. */
export interface Handover {
  readonly part: number;
  readonly sender: number;
  readonly receiver: number;
}

type Pair = readonly [by: number, of: number];
type Pairs = Map<string, Pair>;

/**
 * The complaints of one view: unreachable pairs, slow members and unfit members. In `slow` and `unfit` the first of a
 * pair complains of the second. Owned by the leader.
 */
export class Complaints {
  readonly unreachable: Pairs = new Map();
  readonly slow: Pairs = new Map();
  readonly unfit: Pairs = new Map();

  /** Adds a complaint of one member about another; returns whether it is new. */
  add(by: number, of: number, fault: Fault): boolean {
    const pair: Pair = fault === "gone" ? [Math.min(by, of), Math.max(by, of)] : [by, of];
    const pairs = { gone: this.unreachable, slow: this.slow, unfit: this.unfit }[fault];
    const isNew = !pairs.has(pair.join());
    pairs.set(pair.join(), pair);
    return isNew;
  }

  /** Whether these two cannot reach each other. */
  areUnreachable(one: number, other: number): boolean {
    return this.unreachable.has([Math.min(one, other), Math.max(one, other)].join());
  }

  /** Whether one of these two is slow according to the other. */
  areSlow(one: number, other: number): boolean {
    return this.slow.has([one, other].join()) || this.slow.has([other, one].join());
  }

  /** Returns the complaints between two of `places`; complaints of slow members only if `slow`. */
  between(places: Places, slow: boolean): Complaints {
    const complaints = new Complaints();
    const copy = (from: Pairs, to: Pairs) => {
      for (const [name, pair] of from) if (pair.every((place) => places.includes(place))) to.set(name, pair);
    };
    copy(this.unreachable, complaints.unreachable);
    if (slow) copy(this.slow, complaints.slow);
    copy(this.unfit, complaints.unfit);
    return complaints;
  }
}

// Checks.

/** Returns the least number of members that may finish. Throws a RangeError if the order contradicts itself. */
export function leastMembers(
  { members, bounds, exchange, precision, reducer, least }: GroupOrder,
  place: number,
): number {
  const count = members.length;
  const fits = bounds.length - 1 === (exchange === "full" ? 1 : count);
  if (!fits || place < 0 || place >= count) {
    throw new RangeError("The group's bounds do not fit its members and its exchange.");
  }
  const masked = precision === "masked";
  if (masked && (exchange !== "butterfly" || reducer !== "mean")) {
    throw new RangeError("Masked pieces need the exchange butterfly and a plain mean.");
  }
  const needed = Math.max(least, Math.floor(count / 2) + 1, masked ? LEAST_MASKED : 0);
  if (count < needed) throw new RangeError(`The group has ${count} members and needs ${needed}.`);
  return needed;
}

/** Returns why a member cannot begin with these values; null if it can. */
export function beginError(
  { bounds, exchange, most_weight, precision }: GroupOrder,
  weight: number,
  commitments: readonly Digest[],
  key: Uint8Array,
): string | null {
  if (!(weight > 0 && weight <= most_weight && weight < Number.POSITIVE_INFINITY)) {
    return "Its weight is not above 0, or exceeds what the group allows.";
  }
  const masked = precision === "masked";
  const expected = exchange === "ring" || masked ? 0 : bounds.length - 1;
  if (commitments.length !== expected) {
    return `It committed to ${commitments.length} pieces instead of ${expected}.`;
  }
  const fits = masked ? isUsableKey(key) : key.length === 0;
  return fits ? null : "Its key is not of the kind that this group needs.";
}

/** Returns a negative number if `a` comes before `b`. */
export function compareBallots(a: Ballot, b: Ballot): number {
  return a[0] - b[0] || a[1] - b[1];
}

export function ballotOf(pair: readonly number[]): Ballot {
  return [pair[0] ?? 0, pair[1] ?? 0];
}

// Plans.

/** Returns the step that every group begins with: all members, and no mean yet. */
export function firstPlan({ members, bounds }: GroupOrder): GroupPlan {
  const parts = range(bounds.length - 1);
  return {
    ballot: FIRST,
    alive: range(members.length),
    owners: parts,
    parts: parts.map(() => NONE),
    weights: members.map(() => 0),
    first: true,
  };
}

interface Merged {
  readonly parts: readonly Digest[];
  readonly weights: readonly number[];
  /** Whether no mean may be replaced. */
  readonly final: boolean;
}

/**
 * Returns the means that the next step keeps, and all known weights. The parts accepted at the highest ballot may
 * have been decided, and are kept together. If no member accepted a step, each part's most common mean is kept; of
 * equally common ones, that of the lowest place.
 */
function mergeAnswers(answers: Answers): Merged {
  const all = ascending(answers).map((place) => answers.get(place) as MemberAnswer);
  const latest = all.map(({ ballot }) => ballot).reduce((a, b) => (compareBallots(a, b) >= 0 ? a : b), NEVER);
  if (compareBallots(latest, NEVER) !== 0) {
    const accepted = all.filter(({ ballot }) => compareBallots(ballot, latest) === 0);
    const { parts, weights } = mostCommon(accepted, ({ parts, weights }) =>
      [...parts.map(toHex), ...weights].join(),
    ) as MemberAnswer;
    return { parts, weights, final: true };
  }
  const parts = all[0]?.parts.map((_, part) => {
    const made = all.map((answer) => answer.parts[part] as Digest).filter(({ length }) => length > 0);
    return mostCommon(made, toHex) ?? NONE;
  });
  const weights = all[0]?.weights.map(
    (_, place) => all.map((answer) => answer.weights[place] as number).find((weight) => weight > 0) ?? 0,
  );
  return { parts: parts ?? [], weights: weights ?? [], final: false };
}

/**
 * Plans the next step among the members that answered; null if no `minimum` of them can finish together. Slow members
 * are excluded only if `minimum` others remain: `withoutSlow` says whether they were. A plan without its `leader`
 * means that the others have to finish without it.
 */
export function makePlan(
  ballot: Ballot,
  leader: number,
  minimum: number,
  answers: Answers,
  complaints: Complaints,
): { readonly plan: GroupPlan | null; readonly withoutSlow: boolean } {
  for (const withoutSlow of [true, false]) {
    const plan = leaveOut(ballot, leader, answers, complaints, withoutSlow);
    if (plan !== null && plan.alive.length >= minimum) return { plan, withoutSlow };
  }
  return { plan: null, withoutSlow: false };
}

/**
 * Assigns senders to receivers, so that all alive members get all existing means. The owner of a part, which may have
 * sent it already, has priority; otherwise the load is spread. Slow pairs are avoided if another sender exists.
 */
export function planHandovers(plan: GroupPlan, answers: Answers, complaints: Complaints): Handover[] {
  return plan.parts.flatMap((digest, part) => {
    if (digest.length === 0) return [];
    const holders = holdersOf(plan.alive, answers, part, digest);
    const receivers = plan.alive.filter((place) => !holders.includes(place));
    return receivers.map((receiver) => {
      const reaching = holders.filter((place) => !complaints.areUnreachable(place, receiver));
      const fast = reaching.filter((place) => !complaints.areSlow(place, receiver));
      const capable = fast.length > 0 ? fast : reaching;
      const owner = plan.owners[part] as number;
      const sender = capable.includes(owner)
        ? owner
        : (capable[(part + receiver) % capable.length] as number);
      return { part, sender, receiver };
    });
  });
}

/**
 * Returns the share of all members' weight in a result: 1 if every value contains every member's. Plain float64 sums
 * from left to right.
 */
export function weightFraction(
  lengths: readonly number[],
  contributors: readonly Places[],
  weights: readonly number[],
): number {
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const included = contributors.map(
    (places, part) => (lengths[part] as number) * sum(places.map((place) => weights[place] as number)),
  );
  const total = sum(lengths) * sum(weights);
  return total > 0 ? sum(included) / total : 0;
}

/** Excludes members, one after the other, until the others can finish despite their complaints. */
function leaveOut(
  ballot: Ballot,
  leader: number,
  answers: Answers,
  complaints: Complaints,
  withoutSlow: boolean,
): GroupPlan | null {
  let alive = ascending(answers);
  while (alive.length > 0) {
    const remaining = new Map(alive.map((place) => [place, answers.get(place) as MemberAnswer]));
    const between = complaints.between(alive, withoutSlow);
    const plan = planOf(ballot, remaining, between);
    if (plan === null || "ballot" in plan) return plan;
    const blamed = mostBlamed(alive, leader, [...plan.values()], plan === between.unreachable);
    alive = alive.filter((place) => place !== blamed);
  }
  return null;
}

/**
 * Returns the member to exclude, because of pairs that are unreachable (`mutual`) or of which the first complains. A
 * member that complains of more than half of the others is blamed itself; otherwise the member with most complaints
 * against it. Of an unreachable pair it is the member of more such pairs. Ties go to the higher place, to a leader
 * last.
 */
function mostBlamed(places: Places, leader: number, pairs: readonly Pair[], mutual: boolean): number {
  const complaints = (place: number) => pairs.filter(([by]) => by === place).length;
  const blames = (place: number) =>
    pairs.filter(([by, of]) => of === place || (mutual && by === place)).length;
  const frequent = mutual ? [] : places.filter((place) => 2 * complaints(place) > places.length - 1);
  const count = frequent.length > 0 ? complaints : blames;
  const suspects = frequent.length > 0 ? frequent : places.filter((place) => blames(place) > 0);
  const isWorse = (a: number, b: number) => {
    if (count(a) !== count(b)) return count(a) > count(b);
    return (a === leader) === (b === leader) ? a > b : b === leader;
  };
  return suspects.reduce((a, b) => (isWorse(b, a) ? b : a));
}

/**
 * Plans the step of exactly these members. Returns the pairs that make it impossible, or null if no other choice of
 * members would help. No unfit member stays. Existing means are routed around unreachable pairs and slow members. A
 * missing mean needs an owner that all can reach, and no slow member.
 */
function planOf(ballot: Ballot, answers: Answers, complaints: Complaints): GroupPlan | Pairs | null {
  const { parts, weights, final } = mergeAnswers(answers);
  if (complaints.unfit.size > 0) return complaints.unfit;
  const alive = [...answers.keys()];
  const keptDigests: Digest[] = [];
  for (const [part, digest] of parts.entries()) {
    const holders = digest.length > 0 ? holdersOf(alive, answers, part, digest) : [];
    if (holders.length === 0 && digest.length > 0 && final) return null;
    const isCutOff = (place: number) => holders.every((one) => complaints.areUnreachable(place, one));
    if (holders.length > 0 && alive.some((place) => !holders.includes(place) && isCutOff(place))) {
      return complaints.unreachable;
    }
    keptDigests.push(holders.length > 0 ? digest : NONE);
  }
  const reaching = alive.filter((one) => !alive.some((other) => complaints.areUnreachable(one, other)));
  const missing = keptDigests.some(({ length }) => length === 0);
  if (missing && reaching.length === 0) return complaints.unreachable;
  if (missing && complaints.slow.size > 0) return complaints.slow;
  const capable = reaching.length > 0 ? reaching : alive;
  const owners = parts.map((_, part) =>
    capable.includes(part) ? part : (capable[part % capable.length] as number),
  );
  return { ballot, alive, owners, parts: keptDigests, weights, first: false };
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

function ascending(answers: Answers): number[] {
  return [...answers.keys()].sort((a, b) => a - b);
}

function holdersOf(places: Places, answers: Answers, part: number, digest: Digest): number[] {
  return places.filter((place) => sameBytes(answers.get(place)?.parts[part] ?? NONE, digest));
}

/** Returns the most common value; of equally common ones the first. */
function mostCommon<T>(values: readonly T[], name: (value: T) => string): T | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(name(value), (counts.get(name(value)) ?? 0) + 1);
  const maximum = Math.max(...counts.values());
  return values.find((value) => counts.get(name(value)) === maximum);
}
