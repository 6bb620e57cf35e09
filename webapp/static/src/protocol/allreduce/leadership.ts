/**
 * What the leader of a view of a group knows, besides what every member does (standing.ts): it gathers answers
 * for the step `ballot`, then plans it, then waits until all hold it. `backend/protocols/mesh/allreduce/leadership.py` is the twin.
 */

import { toHex } from "../../core/crypto/bytes";
import { Troubles } from "./complaints";
import { answerOf, type FrameOf } from "./frames";
import { type Answer, type Ballot, compareBallots, type Digest, type Gift } from "./plan";

export class Leadership {
  /** Who answered this step's `ask` (or asked for this view by `change`). */
  readonly answers = new Map<number, Answer>();
  /** Who holds all of this step, and what. */
  readonly accepted = new Map<number, readonly Digest[]>();
  gifts: readonly Gift[] = [];
  readonly troubles = new Troubles();
  /** Something was complained of that this step's plan does not know. */
  news = false;
  /** Complaints of slow members were passed over once, for want of others. */
  passedOver = false;

  /** `planned` says which of the two it waits for. */
  constructor(
    public ballot: Ballot,
    public since: number,
    public planned = false,
  ) {}

  /** Something is wrong between two members, or with the second. */
  complained(by: number, of: number, fault: "gone" | "slow" | "unfit"): void {
    if (this.troubles.add(by, of, fault)) this.news = true;
  }

  /** Who asked for this view has answered its first question. */
  count(changes: ReadonlyMap<number, FrameOf<"change">>): void {
    if (this.planned) return;
    for (const [place, change] of changes) {
      const asked = compareBallots([change.view, 0], this.ballot) === 0;
      if (asked && !this.answers.has(place)) this.answers.set(place, answerOf(change));
    }
  }

  /** The step is planned: now all of it has to come to everybody in it. */
  begin(gifts: readonly Gift[]): void {
    this.planned = true;
    this.news = false;
    this.accepted.clear();
    this.gifts = gifts;
  }

  /** The next step begins with everybody's answers. */
  again(now: number): void {
    this.ballot = [this.ballot[0], this.ballot[1] + 1];
    this.since = now;
    this.planned = false;
    this.news = false;
    this.answers.clear();
    this.accepted.clear();
  }

  /** Whether all hold the same; null while somebody has not said so. */
  agreed(alive: readonly number[]): boolean | null {
    if (!alive.every((place) => this.accepted.has(place))) return null;
    return new Set(alive.map((place) => this.accepted.get(place)?.map(toHex).join())).size === 1;
  }
}
