/**
 * Where a member of a group stands: what the parts of its machine (member.ts) have in common.
 * `backend/protocols/mesh/allreduce/standing.py` is the twin.
 */

import type { GroupOrder } from "../wire/mesh";
import { Arrived, range } from "./arrived";
import type { Control, Effect, Places } from "./events";
import { type FrameOf, Words } from "./frames";
import { Leadership } from "./leadership";
import { LinkBook, type Said } from "./links";
import { type Answer, type Ballot, compareBallots, NONE, type Plan } from "./plan";
import { Step } from "./step";

/** Owned by the machine. Times are its own, in seconds. */
export class Standing {
  readonly count: number;
  readonly parts: number;
  readonly others: Places;
  readonly links: LinkBook;
  readonly words: Words;
  readonly arrived: Arrived;
  readonly step: Step;
  /** When the group's time is over. */
  readonly ends: number;
  /** When the step begins to be slow. */
  slowAt: number;
  out: Effect[] = [];
  prepared = false;
  /** Public, of this group; empty where nothing is masked. */
  key: Uint8Array = NONE;
  /** Who gave up, and takes nothing any more. */
  readonly quit = new Set<number>();
  /** It takes part in nothing below. */
  promised: Ballot = [0, 1];
  /** What it accepted last, besides the step that it knows. */
  accepted: Answer | null = null;
  /** It wants the view that it is in, and was not asked by its leader yet. */
  changing = false;
  /** Who wanted another view, and which. */
  readonly changes = new Map<number, FrameOf<"change">>();
  /** Only while it leads itself. */
  leading: Leadership | null;

  /** Nobody goes on with fewer than `least` members. */
  constructor(
    readonly order: GroupOrder,
    readonly place: number,
    readonly least: number,
    public now: number,
  ) {
    this.count = order.members.length;
    this.parts = order.bounds.length - 1;
    this.others = range(this.count).filter((one) => one !== place);
    this.ends = now + order.seconds;
    this.slowAt = now + order.seconds / 2;
    this.words = new Words(order);
    this.links = new LinkBook(this.others, order.patience / 2, now + order.patience);
    this.arrived = new Arrived(order, place);
    this.step = new Step(order, place, this.arrived, this.links);
    this.leading = place === 0 ? new Leadership([0, 1], now, true) : null;
  }

  /** The last step that this member knows. */
  get plan(): Plan {
    return this.step.plan;
  }

  /** The place that leads this view. */
  leader(view: number): number {
    return view % this.count;
  }

  /** Whether nothing is to be expected from that member. */
  gone(place: number): boolean {
    return this.quit.has(place) || this.links.gone(place, this.now);
  }

  /** How many can talk to this member, itself included. */
  get reach(): number {
    return 1 + this.others.filter((place) => !this.gone(place)).length;
  }

  /** What it holds: what it accepted last, or else any mean of each part. */
  get answer(): Answer {
    return this.accepted ?? this.step.answer;
  }

  /** Whether it promised no step beyond the one that it knows. */
  get isCurrent(): boolean {
    return compareBallots(this.promised, this.plan.ballot) === 0;
  }

  /** Whether what it accepted last is of the step that it knows. */
  get hasAccepted(): boolean {
    return this.accepted !== null && compareBallots(this.accepted.held, this.plan.ballot) === 0;
  }

  /** Whether it names all parts and all members. */
  isWhole({ parts, weights }: FrameOf<"holds" | "change" | "config">): boolean {
    return parts.length === this.parts && weights.length === this.count;
  }

  /** Goes on by this plan, and so without those who are not in it any more. */
  adopt(plan: Plan): void {
    const gone = this.plan.alive.filter((place) => place !== this.place && !plan.alive.includes(place));
    this.step.plan = plan;
    this.step.handed = [];
    this.slowAt = this.now + Math.max((this.ends - this.now) / 2, this.order.patience);
    for (const place of gone) {
      this.links.forget(place);
      this.out.push({ type: "without", place });
    }
  }

  /** To those of `places` who were not told this yet over their present links. */
  say(what: Said, places: Places, frame: Control): void {
    const fresh = this.links.untold(what, places);
    if (fresh.length > 0) this.out.push({ type: "send", places: fresh, frame });
  }
}
