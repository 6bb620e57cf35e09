/** What was complained of in one view of a group. `backend/protocols/mesh/allreduce/plan.py` has the twin. */

import type { Places } from "./events";

/** In slow and unfit pairs the first complains of the second. */
type Pair = readonly [by: number, of: number];
export type Pairs = Map<string, Pair>;

/** Pairs that cannot talk; who was slow, or unfit, by whose word. Owned by the leader. */
export class Troubles {
  readonly gaps: Pairs = new Map();
  readonly slow: Pairs = new Map();
  readonly unfit: Pairs = new Map();

  /** Whether that is news. */
  add(by: number, of: number, fault: "gone" | "slow" | "unfit"): boolean {
    const pair: Pair = fault === "gone" ? [Math.min(by, of), Math.max(by, of)] : [by, of];
    const pairs = { gone: this.gaps, slow: this.slow, unfit: this.unfit }[fault];
    const news = !pairs.has(pair.join());
    pairs.set(pair.join(), pair);
    return news;
  }

  /** Whether these two cannot talk with each other. */
  apart(one: number, other: number): boolean {
    return this.gaps.has([Math.min(one, other), Math.max(one, other)].join());
  }

  /** Whether one of these two is slow, as the other says. */
  slowly(one: number, other: number): boolean {
    return this.slow.has([one, other].join()) || this.slow.has([other, one].join());
  }

  /** Those between two of `places`, with slowness or without. */
  among(places: Places, heeded: boolean): Troubles {
    const troubles = new Troubles();
    const copy = (from: Pairs, to: Pairs) => {
      for (const [name, pair] of from) if (pair.every((place) => places.includes(place))) to.set(name, pair);
    };
    copy(this.gaps, troubles.gaps);
    if (heeded) copy(this.slow, troubles.slow);
    copy(this.unfit, troubles.unfit);
    return troubles;
  }
}

/**
 * Whom of `places` to go on without, because of gaps (`mutual`) or of pairs in which the first complains of the second. Who
 * complains of more than half of the others is blamed itself; else whom most complain of. Of two that cannot talk it is the one
 * with more such gaps. Of equals it is the higher place, a leader after others.
 */
export function worst(places: Places, leader: number, pairs: readonly Pair[], mutual: boolean): number {
  const complained = (place: number) => pairs.filter(([by]) => by === place).length;
  const blamed = (place: number) =>
    pairs.filter(([by, of]) => of === place || (mutual && by === place)).length;
  const querulous = mutual ? [] : places.filter((place) => 2 * complained(place) > places.length - 1);
  const count = querulous.length > 0 ? complained : blamed;
  const suspects = querulous.length > 0 ? querulous : places.filter((place) => blamed(place) > 0);
  const rank = (place: number) => [count(place), Number(place !== leader), place];
  return suspects.reduce((a, b) => (compare(rank(a), rank(b)) >= 0 ? a : b));
}

/** By the first number that differs. */
function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at < 0 ? 0 : (a[at] as number) - (b[at] as number);
}
