/**
 * What a leader makes of its members' answers: who stays, who owns which part, who hands on what is made. Pure functions.
 * `backend/protocols/mesh/allreduce/plan.py` is the twin.
 */

import { sameBytes, toHex } from "../../core/crypto/bytes";
import { type Pairs, type Troubles, worst } from "./complaints";
import type { Places } from "./events";

/** View and step. The first step of the first view is [0, 1]; NEVER says that nothing was accepted. */
export type Ballot = readonly [view: number, step: number];
export const NEVER: Ballot = [0, 0];

/** A digest of a part's mean; empty where there is none. */
export type Digest = Uint8Array;
export const NONE: Digest = new Uint8Array();

/** What a member holds, by part; `held` is when it accepted all of them. */
export interface Answer {
  readonly held: Ballot;
  readonly parts: readonly Digest[];
  readonly weights: readonly number[];
}
export type Answers = ReadonlyMap<number, Answer>;

/** One step of a group; the fields are those of the frame `config`. Only in the `first` step members exchange in the order's own way. */
export interface Plan {
  readonly ballot: Ballot;
  readonly alive: Places;
  readonly owners: Places;
  readonly parts: readonly Digest[];
  readonly weights: readonly number[];
  readonly first: boolean;
}

/** A member hands its mean of a part on to one that lacks it. */
export interface Gift {
  readonly part: number;
  readonly giver: number;
  readonly receiver: number;
}

interface Known {
  readonly parts: readonly Digest[];
  readonly weights: readonly number[];
  /** No mean may be replaced. */
  readonly whole: boolean;
}

/** Below 0 where `a` comes before `b`. */
export function compareBallots(a: Ballot, b: Ballot): number {
  return a[0] - b[0] || a[1] - b[1];
}

/**
 * What the next step keeps of the means that are made, and all weights that anybody knows. What a member accepted last may
 * have been decided, and is kept whole. Else each part's most common mean is kept, of equally common ones that of the lowest
 * place.
 */
export function known(answers: Answers): Known {
  const all = ascending(answers).map((place) => answers.get(place) as Answer);
  const last = all.map(({ held }) => held).reduce((a, b) => (compareBallots(a, b) >= 0 ? a : b), NEVER);
  if (compareBallots(last, NEVER) !== 0) {
    const accepted = all.filter(({ held }) => compareBallots(held, last) === 0);
    const { parts, weights } = commonest(accepted, ({ parts, weights }) =>
      [...parts.map(toHex), ...weights].join(),
    ) as Answer;
    return { parts, weights, whole: true };
  }
  const parts = all[0]?.parts.map((_, part) => {
    const made = all.map((answer) => answer.parts[part] as Digest).filter(({ length }) => length > 0);
    return commonest(made, toHex) ?? NONE;
  });
  const weights = all[0]?.weights.map(
    (_, place) => all.map((answer) => answer.weights[place] as number).find((weight) => weight > 0) ?? 0,
  );
  return { parts: parts ?? [], weights: weights ?? [], whole: false };
}

/**
 * The next step, among those who answered; null where no `least` of them can go on together. Slow members are gone on
 * without only if enough are left: `heeded` says whether so. A plan without its `leader` says that the others have to go on
 * without it.
 */
export function planned(
  ballot: Ballot,
  leader: number,
  least: number,
  answers: Answers,
  troubles: Troubles,
): { readonly plan: Plan | null; readonly heeded: boolean } {
  for (const heeded of [true, false]) {
    const plan = among(ballot, leader, answers, troubles, heeded);
    if (plan !== null && plan.alive.length >= least) return { plan, heeded };
  }
  return { plan: null, heeded: false };
}

/**
 * Who hands on which mean to whom, so that all alive have all that are made. The owner of a part, which may have sent it
 * already, comes first; else the load is spread. Slow pairs are passed over where that leaves somebody.
 */
export function gifts(plan: Plan, answers: Answers, troubles: Troubles): Gift[] {
  return plan.parts.flatMap((digest, part) => {
    if (digest.length === 0) return [];
    const holders = holding(plan.alive, answers, part, digest);
    const lacking = plan.alive.filter((place) => !holders.includes(place));
    return lacking.map((receiver) => {
      const reaching = holders.filter((place) => !troubles.apart(place, receiver));
      const quick = reaching.filter((place) => !troubles.slowly(place, receiver));
      const able = quick.length > 0 ? quick : reaching;
      const owner = plan.owners[part] as number;
      const giver = able.includes(owner) ? owner : (able[(part + receiver) % able.length] as number);
      return { part, giver, receiver };
    });
  });
}

/** How much of all members' weight is in a result: 1 if every value has everybody's. Plain sums of float64 from the left. */
export function fraction(
  lengths: readonly number[],
  contributors: readonly Places[],
  weights: readonly number[],
): number {
  const added = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const having = contributors.map(
    (places, part) => (lengths[part] as number) * added(places.map((place) => weights[place] as number)),
  );
  const everything = added(lengths) * added(weights);
  return everything > 0 ? added(having) / everything : 0;
}

/** Leaves members out, one after the other, until those left can go on in spite of their troubles. */
function among(
  ballot: Ballot,
  leader: number,
  answers: Answers,
  troubles: Troubles,
  heeded: boolean,
): Plan | null {
  let alive = ascending(answers);
  while (alive.length > 0) {
    const left = new Map(alive.map((place) => [place, answers.get(place) as Answer]));
    const between = troubles.among(alive, heeded);
    const step = tried(ballot, left, between);
    if (step === null || "ballot" in step) return step;
    const blamed = worst(alive, leader, [...step.values()], step === between.gaps);
    alive = alive.filter((place) => place !== blamed);
  }
  return null;
}

/**
 * The step of exactly these members, or the pairs because of which it is impossible; null where no other members would help.
 * Nobody unfit stays. What is made goes round gaps and slow members. What is not made needs an owner that all can talk to, and
 * nobody that is slow.
 */
function tried(ballot: Ballot, answers: Answers, troubles: Troubles): Plan | Pairs | null {
  const { parts, weights, whole } = known(answers);
  if (troubles.unfit.size > 0) return troubles.unfit;
  const alive = [...answers.keys()];
  const kept: Digest[] = [];
  for (const [part, digest] of parts.entries()) {
    const holders = digest.length > 0 ? holding(alive, answers, part, digest) : [];
    if (holders.length === 0 && digest.length > 0 && whole) return null;
    const cutOff = (place: number) => holders.every((one) => troubles.apart(place, one));
    if (holders.length > 0 && alive.some((place) => !holders.includes(place) && cutOff(place))) {
      return troubles.gaps;
    }
    kept.push(holders.length > 0 ? digest : NONE);
  }
  const reaching = alive.filter((one) => !alive.some((other) => troubles.apart(one, other)));
  const missing = kept.some(({ length }) => length === 0);
  if (missing && reaching.length === 0) return troubles.gaps;
  if (missing && troubles.slow.size > 0) return troubles.slow;
  const able = reaching.length > 0 ? reaching : alive;
  const owners = parts.map((_, part) => (able.includes(part) ? part : (able[part % able.length] as number)));
  return { ballot, alive, owners, parts: kept, weights, first: false };
}

function ascending(answers: Answers): number[] {
  return [...answers.keys()].sort((a, b) => a - b);
}

function holding(places: Places, answers: Answers, part: number, digest: Digest): number[] {
  return places.filter((place) => sameBytes(answers.get(place)?.parts[part] ?? NONE, digest));
}

/** Of equally common ones the first. */
function commonest<T>(values: readonly T[], name: (value: T) => string): T | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(name(value), (counts.get(name(value)) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return values.find((value) => counts.get(name(value)) === most);
}
