/**
 * Elects a group's leader and leads: the leader gathers answers, plans steps and detects agreement. A view is the
 * term of one leader: place view mod n. `Views` follows a leader, and moves to the next view when one fails; `Leader`
 * leads one view. The twin is backend/protocols/mesh/allreduce/leader.py.
 */

import { toHex } from "../../core/crypto/bytes";
import { later } from "../../core/user-messages";
import type { Fault, FrameOf, Places } from "./group-events";
import {
  type Answers,
  type Ballot,
  ballotOf,
  Complaints,
  compareBallots,
  type Digest,
  FIRST,
  type Handover,
  type MemberAnswer,
  makePlan,
  planHandovers,
} from "./plan";
import type { GroupStep } from "./step";
import type { MemberLinks } from "./transfers";

/** The number of terms of each place. After these, no majority can communicate. */
const MAX_TERMS = 3;

/**
 * A leader's conclusion from an event: all members of the plan accepted the same means (`decided`); this step fails,
 * and another one follows; this view fails, and another leader may reach more members; the others have to finish
 * without the leader.
 */
type Verdict = "wait" | "decided" | "next_step" | "next_view" | "left_out";
type Changes = ReadonlyMap<number, FrameOf<"change">>;

/**
 * Leads the view of `ballot`: gathers answers, plans the step, and waits until all have accepted it. Owned by
 * `Views`.
 */
export class Leader {
  readonly #step: GroupStep;
  readonly #links: MemberLinks;
  /** The time since which it waits: for acceptances if the step is `planned`, else for answers. */
  since: number;
  /** Answers to this step's `ask`, or `change` frames for this view. */
  readonly #answers = new Map<number, MemberAnswer>();
  /** The digests that each member accepted in this step. */
  readonly #accepted = new Map<number, readonly Digest[]>();
  #handovers: readonly Handover[] = [];
  readonly #complaints = new Complaints();
  /** There is a complaint that this step's plan does not consider. */
  #hasNews = false;
  /** Slow members were kept once, because too few others remained. */
  #keptSlow = false;

  constructor(
    step: GroupStep,
    private readonly minimum: number,
    public ballot: Ballot,
    public planned = false,
  ) {
    this.#step = step;
    this.#links = step.links;
    this.since = step.links.now;
  }

  /** Records a fault between two members, or of the second. */
  addComplaint(by: number, of: number, fault: Fault): void {
    // In a ring every member waits for all: the butterfly of the next step shows which member is slow.
    if ((fault === "slow" && this.#step.isRing) || this.#complaints.add(by, of, fault)) this.#hasNews = true;
  }

  /**
   * Takes a member's report of its means: its acceptance of the planned step, or an answer for planning the next one.
   */
  addAnswer(place: number, frame: FrameOf<"holds">): void {
    const { view, step, held, parts } = frame;
    if (compareBallots(this.ballot, [view, step]) !== 0 || !this.#step.isComplete(frame)) return;
    if (!this.planned) this.#answers.set(place, answerOf(frame));
    else if (compareBallots(ballotOf(held), this.ballot) === 0) this.#accepted.set(place, parts);
  }

  /** Records that the leader itself accepted the step. */
  addOwnAcceptance({ parts }: MemberAnswer): void {
    this.#accepted.set(this.#step.place, parts);
  }

  /** Sends what is due now. `changes` are frames of members, of which those in `ahead` left this view. */
  lead(changes: Changes, ahead: Places): Verdict {
    const { place, plan, received } = this.#step;
    this.#countChanges(changes);
    for (const one of received.unfit.keys()) this.addComplaint(place, one, "unfit");
    const members = this.#links.others.filter((one) => !this.#links.isLost(one) && !ahead.includes(one));
    if (!this.planned) return this.#gather(members);
    this.#sendPlan();
    const everyone = plan.alive.every((one) => this.#accepted.has(one));
    const accepted = plan.alive.map((one) => this.#accepted.get(one)?.map(toHex).join());
    if (everyone && new Set(accepted).size === 1) return "decided";
    const lost = plan.alive.some((one) => one !== place && !members.includes(one));
    return everyone || this.#hasNews || lost ? "next_step" : "wait";
  }

  /** Begins the next step, for which all members answer again. */
  beginNextStep(): void {
    this.ballot = [this.ballot[0], this.ballot[1] + 1];
    this.since = this.#links.now;
    this.planned = false;
    this.#hasNews = false;
    this.#answers.clear();
    this.#accepted.clear();
  }

  /** Counts `change` frames for this view as answers to its first question. */
  #countChanges(changes: Changes): void {
    if (this.planned) return;
    for (const [place, change] of changes) {
      const asked = compareBallots([change.view, 0], this.ballot) === 0;
      if (asked && !this.#answers.has(place)) this.#answers.set(place, answerOf(change));
    }
  }

  /** Waits for the answers of `members`, and plans the step once they have arrived. */
  #gather(members: Places): Verdict {
    const { place, answer, header, isSettling, order } = this.#step;
    const [view, step] = this.ballot;
    this.#answers.set(place, answer);
    const answers = new Map(
      [place, ...members].flatMap((one) => {
        const answer = this.#answers.get(one);
        return answer ? [[one, answer] as const] : [];
      }),
    );
    const missing = members.filter((one) => !answers.has(one));
    const isOver = this.#links.now >= this.since + order.patience * (step > 0 ? 2 : 1);
    const enough = answers.size >= this.minimum;
    if (1 + members.length < this.minimum || (isOver && !enough)) return "next_view";
    if (step > 0 || enough) {
      this.#links.send(["ask", view, step], missing, { type: "ask", ...header, view, step });
    }
    return (missing.length === 0 || isOver) && enough && !isSettling ? this.#plan(answers) : "wait";
  }

  #plan(answers: Answers): Verdict {
    const { place } = this.#step;
    const { plan, withoutSlow } = makePlan(this.ballot, place, this.minimum, answers, this.#complaints);
    if (plan === null || (!withoutSlow && this.#keptSlow)) return "next_view";
    if (!plan.alive.includes(place)) return "left_out";
    if (!withoutSlow) {
      // If all members are slow, none is to blame; members that stay slow cause new complaints.
      this.#complaints.slow.clear();
      this.#keptSlow = true;
    }
    this.#step.adopt(plan);
    this.planned = true;
    this.#hasNews = false;
    this.#accepted.clear();
    this.#handovers = planHandovers(plan, answers, this.#complaints);
    const own = this.#handovers.filter(({ sender }) => sender === place);
    this.#step.handovers = own.map(({ part, receiver }) => ({ part, place: receiver }));
    return "wait";
  }

  /** Sends the plan to all members, and a `give` to each member that has to send a mean. */
  #sendPlan(): void {
    const { header, order, place, plan, slowAt } = this.#step;
    const { ballot, alive, owners, parts, weights, first } = plan;
    if (first) return;
    const [view, step] = ballot;
    const config = { type: "config", ...header, view, step, alive, owners, parts, weights } as const;
    this.#links.send(["config", ...ballot], this.#links.others, config);
    const isLate = this.#links.now >= slowAt + order.patience;
    const gives = new Map<string, { sender: number; part: number; places: number[] }>();
    for (const { sender, receiver, part } of this.#handovers) {
      if (isLate && !this.#accepted.has(receiver)) this.addComplaint(receiver, sender, "slow");
      if (sender === place) continue;
      const places = gives.get(`${sender}/${part}`)?.places ?? [];
      gives.set(`${sender}/${part}`, { sender, part, places: [...places, receiver] });
    }
    for (const { sender, part, places } of gives.values()) {
      const give = { type: "give", ...header, view, step, part, places } as const;
      this.#links.send(["give", ...ballot, part], [sender], give);
    }
  }
}

/** The leader and the step that a member follows. Owned by the member's machine. */
export class Views {
  readonly #step: GroupStep;
  readonly #links: MemberLinks;
  /** The member takes part in no lower ballot. */
  promised = FIRST;
  /** The member entered the view by itself, and the view's leader has not asked it yet. */
  changing = false;
  /** The latest `change` frame of each other member. */
  readonly changes = new Map<number, FrameOf<"change">>();
  /** Set only while this member leads. */
  leader: Leader | null;
  /** Why the member finds no leader, for people. */
  failure: string | null = null;
  /** Leaders that left their view because they reach too few members. Cleared when a link comes up. */
  readonly #unable = new Set<number>();

  constructor(
    step: GroupStep,
    private readonly minimum: number,
  ) {
    this.#step = step;
    this.#links = step.links;
    this.leader = step.place === 0 ? new Leader(step, minimum, FIRST, true) : null;
  }

  /** Returns the place that leads this view. */
  leaderOf(view: number): number {
    return view % this.#step.count;
  }

  /** Whether the member promised no step beyond the one that it follows. */
  get isCurrent(): boolean {
    return compareBallots(this.promised, this.#step.plan.ballot) === 0;
  }

  // Frames and links.

  /** Records a link: leaders that reached too few members may reach enough now. */
  linkUp(place: number): void {
    this.#links.connect(place);
    this.#unable.clear();
  }

  /** Takes a leader's `ask` for the answers that another step is planned from. */
  addAsk(place: number, { view, step }: FrameOf<"ask">): void {
    const isNewer = compareBallots([view, step], this.promised) > 0;
    if (this.leaderOf(view) === place && isNewer) this.#promise([view, step]);
  }

  /** Takes a leader's plan of a step. */
  addConfig(place: number, frame: FrameOf<"config">): void {
    const { view, step, owners, parts, weights } = frame;
    const ballot: Ballot = [view, step];
    const isKnown = compareBallots(ballot, this.#step.plan.ballot) === 0;
    if (this.leaderOf(view) !== place || compareBallots(ballot, this.promised) < 0 || isKnown) return;
    const alive = [...new Set(frame.alive)].sort((a, b) => a - b);
    if (!this.#isPlan(frame, alive)) return;
    this.#promise(ballot);
    this.#step.adopt({ ballot, alive, owners, parts, weights, first: false });
  }

  #isPlan(frame: FrameOf<"config">, alive: Places): boolean {
    const { count, parts } = this.#step;
    const areMembers = alive.every((place) => place < count) && alive.length >= this.minimum;
    const areOwned = frame.owners.length === parts && frame.owners.every((owner) => alive.includes(owner));
    return this.#step.isComplete(frame) && areMembers && areOwned;
  }

  /** Takes a member's wish for another view. */
  addChange(place: number, frame: FrameOf<"change">): void {
    if (frame.view >= MAX_TERMS * this.#step.count || !this.#step.isComplete(frame)) return;
    this.changes.set(place, frame);
    const [view] = this.promised;
    if (this.leaderOf(view) === place && frame.view > view) this.#unable.add(place);
  }

  // Changes of view.

  /** Moves to another view if this one fails. */
  checkLeader(): void {
    const { count, place } = this.#step;
    const [view] = this.promised;
    const leader = this.leaderOf(view);
    const ahead = this.#membersAhead();
    if (ahead.includes(leader) || count - ahead.length < this.minimum) this.#join(ahead);
    else if (leader === place ? this.#isUnprepared : this.#isFailed(leader)) this.#enter(view + 1);
  }

  /** Leads, if this member is the leader; returns whether the result is decided. */
  lead(): boolean {
    if (this.leader === null) return false;
    const ahead = this.#membersAhead();
    const verdict = this.leader.lead(this.changes, ahead);
    if (verdict === "next_step" && ahead.length > 0) this.#join(ahead);
    else if (verdict === "next_step") {
      this.leader.beginNextStep();
      this.promised = this.leader.ballot;
    } else if (verdict === "next_view") this.#enter(this.promised[0] + 1);
    else if (verdict === "left_out") this.failure = later("The others must continue without this member.");
    return verdict === "decided";
  }

  /** Returns the members that can be reached, but are in a higher view. */
  #membersAhead(): number[] {
    const [view] = this.promised;
    return [...this.changes].flatMap(([place, change]) =>
      change.view > view && !this.#links.isLost(place) ? [place] : [],
    );
  }

  #join(ahead: Places): void {
    this.#enter(Math.max(...ahead.map((place) => this.changes.get(place)?.view ?? 0)));
  }

  /** Enters the first view, from `view` on, whose leader can lead; fails if there is none. */
  #enter(view: number): void {
    const { count, place } = this.#step;
    for (let candidate = view; candidate < Math.min(view + count, MAX_TERMS * count); candidate++) {
      const leader = this.leaderOf(candidate);
      if (!this.#canLead(leader)) continue;
      this.#promise([candidate, 0]);
      this.changing = true;
      if (leader === place) this.leader = new Leader(this.#step, this.minimum, [candidate, 0]);
      return;
    }
    this.failure = `${this.#links.reachable} of at least ${this.minimum} members can be reached.`;
  }

  #promise(ballot: Ballot): void {
    if (ballot[0] !== this.promised[0]) this.leader = null;
    this.promised = ballot;
    this.changing = false;
  }

  #canLead(place: number): boolean {
    if (place === this.#step.place) return this.#links.reachable >= this.minimum && !this.#isUnprepared;
    return !(this.#links.isLost(place) || this.#step.received.unfit.has(place) || this.#unable.has(place));
  }

  /** An unfit leader learns of it by complaints first, and gives up if only it is broken. */
  #isFailed(leader: number): boolean {
    const isUnfit = this.#step.received.unfit.has(leader) && this.#step.isLate;
    return this.#links.isLost(leader) || isUnfit;
  }

  /** A member that is not prepared in time must not lead: the others finish without it. */
  get #isUnprepared(): boolean {
    return !this.#step.isPrepared && this.#step.isLate;
  }
}

function answerOf({ held, parts, weights }: FrameOf<"holds" | "change">): MemberAnswer {
  return { ballot: ballotOf(held), parts, weights };
}
