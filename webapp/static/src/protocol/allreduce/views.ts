/**
 * Which view and step a member of a group follows, and when it wants another. A part of member.ts;
 * `backend/protocols/mesh/allreduce/views.py` is the twin.
 */

import type { Ending } from "./ending";
import type { Places } from "./events";
import type { FrameOf } from "./frames";
import { Leadership } from "./leadership";
import { type Ballot, compareBallots } from "./plan";
import type { Standing } from "./standing";

/** Each place may lead so often; then it is clear that no majority can talk. */
const LAPS = 3;

/** Of the member that stands so. A view that comes to nothing makes way for the next one. */
export class Views {
  /** Who led a view, and made way: it had not enough to lead. Forgotten when a link comes up. */
  readonly #unable = new Set<number>();

  constructor(
    private readonly own: Standing,
    private readonly ending: Ending,
  ) {}

  // What others say.

  /** There is a link, or it is heard of again: whoever made way may reach enough now. */
  linked(place: number): void {
    this.own.links.linked(place);
    this.#unable.clear();
  }

  /** A leader wants to plan another step. */
  asked(place: number, { view, step }: FrameOf<"ask">): void {
    const newer = compareBallots([view, step], this.own.promised) > 0;
    if (this.own.leader(view) === place && newer) this.#follow([view, step]);
  }

  /** A leader planned a step. */
  configured(place: number, frame: FrameOf<"config">): void {
    const { view, step, owners, parts, weights } = frame;
    const { plan, promised } = this.own;
    const ballot: Ballot = [view, step];
    const known = compareBallots(ballot, plan.ballot) === 0;
    if (this.own.leader(view) !== place || compareBallots(ballot, promised) < 0 || known) return;
    const alive = [...new Set(frame.alive)].sort((a, b) => a - b);
    if (!this.#isPlan(frame, alive)) return;
    this.#follow(ballot);
    this.own.adopt({ ballot, alive, owners, parts, weights, first: false });
  }

  #isPlan(frame: FrameOf<"config">, alive: Places): boolean {
    const { count, least, parts } = this.own;
    const members = alive.every((place) => place < count) && alive.length >= least;
    const owned = frame.owners.length === parts && frame.owners.every((owner) => alive.includes(owner));
    return this.own.isWhole(frame) && members && owned;
  }

  /** A member wants another view. */
  wanted(place: number, frame: FrameOf<"change">): void {
    const { changes, count, promised } = this.own;
    if (frame.view >= LAPS * count || !this.own.isWhole(frame)) return;
    changes.set(place, frame);
    const [view] = promised;
    if (this.own.leader(view) === place && frame.view > view) this.#unable.add(place);
  }

  // Where to.

  /** Moves to another view if this one comes to nothing. */
  mindLeader(): void {
    const { count, least, place, promised } = this.own;
    const [view] = promised;
    const leader = this.own.leader(view);
    const moved = this.moved();
    if (moved.includes(leader) || count - moved.length < least) this.join(moved);
    else if (leader === place ? this.#isLate : this.#isHopeless(leader)) this.move(view + 1);
  }

  /** Who is there, but in a higher view. */
  moved(): number[] {
    const [view] = this.own.promised;
    return [...this.own.changes].flatMap(([place, change]) =>
      change.view > view && !this.own.gone(place) ? [place] : [],
    );
  }

  /** Those in a higher view, where the highest of them are. */
  join(moved: Places): void {
    this.move(Math.max(...moved.map((place) => this.own.changes.get(place)?.view ?? 0)));
  }

  /** To the first view from `view` on whose leader is there; gives up where nobody is. */
  move(view: number): void {
    const { count, least, now, place } = this.own;
    for (let candidate = view; candidate < Math.min(view + count, LAPS * count); candidate++) {
      const leader = this.own.leader(candidate);
      if (!this.#canLead(leader)) continue;
      this.#follow([candidate, 0]);
      this.own.changing = true;
      if (leader === place) this.own.leading = new Leadership([candidate, 0], now);
      return;
    }
    this.ending.giveUp(`${this.own.reach} of at least ${least} members can be talked to.`);
  }

  /** Takes part in nothing below `ballot` any more. */
  #follow(ballot: Ballot): void {
    if (ballot[0] !== this.own.promised[0]) this.own.leading = null;
    this.own.promised = ballot;
    this.own.changing = false;
  }

  // Who can lead.

  #canLead(place: number): boolean {
    if (place === this.own.place) return this.own.reach >= this.own.least && !this.#isLate;
    return !this.own.gone(place) && !this.own.arrived.unfit.has(place) && !this.#unable.has(place);
  }

  /** Nothing is to be expected of it. An unfit leader is told so, and gives up if it is only broken. */
  #isHopeless(leader: number): boolean {
    const { arrived, now, slowAt } = this.own;
    return this.own.gone(leader) || (arrived.unfit.has(leader) && now >= slowAt);
  }

  /** A member that is not prepared in time should not lead: the others go on without it. */
  get #isLate(): boolean {
    return !this.own.prepared && this.own.now >= this.own.slowAt;
  }
}
