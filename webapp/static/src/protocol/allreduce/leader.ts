/**
 * Which member leads a group, and what it does: it gathers answers, plans steps and sees when all agree. A view is the term of
 * one leader: place view mod n. `Views` follows a leader, and moves to the next view when one fails; `Leader` leads one view. The
 * twin is backend/protocols/mesh/allreduce/leader.py.
 */

import { toHex } from "../../core/crypto/bytes";
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

/** Each place may lead so often; then no majority can talk. */
const MAX_TERMS = 3;

/**
 * What a leader concludes after an event: all members of the plan accepted the same (`decided`); the step fails, and another one
 * follows; this view fails, and another leader may reach more members; the others have to finish without the leader.
 */
type Verdict = "wait" | "decided" | "next_step" | "next_view" | "left_out";
type Changes = ReadonlyMap<number, FrameOf<"change">>;

/** Leads the view of `ballot`: gathers answers, plans the step, and waits until all accepted it. Owned by `Views`. */
export class Leader {
  readonly #step: GroupStep;
  readonly #links: MemberLinks;
  /** Since when it waits for what `planned` says. */
  since: number;
  /** To this step's `ask`, or to this view, by `change`. */
  readonly #answers = new Map<number, MemberAnswer>();
  /** Digests of those who accepted this step. */
  readonly #accepted = new Map<number, readonly Digest[]>();
  #handovers: readonly Handover[] = [];
  readonly #complaints = new Complaints();
  /** A complaint that this step's plan does not know. */
  #hasNews = false;
  /** Slow members were kept once, because too few others remained. */
  #keptSlow = false;

  constructor(
    step: GroupStep,
    private readonly least: number,
    public ballot: Ballot,
    public planned = false,
  ) {
    this.#step = step;
    this.#links = step.links;
    this.since = step.links.now;
  }

  /** Something is wrong between two members, or with the second. */
  addComplaint(by: number, of: number, fault: Fault): void {
    // In a ring every member waits for all: the butterfly of the next step shows who is slow.
    if ((fault === "slow" && this.#step.isRing) || this.#complaints.add(by, of, fault)) this.#hasNews = true;
  }

  /** A member says what it has: all of the planned step, or what the next one is planned from. */
  addAnswer(place: number, frame: FrameOf<"holds">): void {
    const { view, step, held, parts } = frame;
    if (compareBallots(this.ballot, [view, step]) !== 0 || !this.#step.isComplete(frame)) return;
    if (!this.planned) this.#answers.set(place, answerOf(frame));
    else if (compareBallots(ballotOf(held), this.ballot) === 0) this.#accepted.set(place, parts);
  }

  /** The leader itself accepted the step. */
  addOwnAcceptance({ parts }: MemberAnswer): void {
    this.#accepted.set(this.#step.place, parts);
  }

  /** Sends what is due now. `changes` are frames of members, of which those `ahead` left this view. */
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

  /** The next step begins with new answers of all. */
  beginNextStep(): void {
    this.ballot = [this.ballot[0], this.ballot[1] + 1];
    this.since = this.#links.now;
    this.planned = false;
    this.#hasNews = false;
    this.#answers.clear();
    this.#accepted.clear();
  }

  /** A member that asked for this view has answered its first question. */
  #countChanges(changes: Changes): void {
    if (this.planned) return;
    for (const [place, change] of changes) {
      const asked = compareBallots([change.view, 0], this.ballot) === 0;
      if (asked && !this.#answers.has(place)) this.#answers.set(place, answerOf(change));
    }
  }

  /** Waits for the answers of `members`, and plans the step when they are here. */
  #gather(members: Places): Verdict {
    const { place, answer, header, isSettling, order } = this.#step;
    const [view, step] = this.ballot;
    this.#answers.set(place, answer);
    const answers = new Map(
      [place, ...members].flatMap((one) => {
        const found = this.#answers.get(one);
        return found ? [[one, found] as const] : [];
      }),
    );
    const missing = members.filter((one) => !answers.has(one));
    const isOver = this.#links.now >= this.since + order.patience * (step > 0 ? 2 : 1);
    const enough = answers.size >= this.least;
    if (1 + members.length < this.least || (isOver && !enough)) return "next_view";
    if (step > 0 || enough) {
      this.#links.send(["ask", view, step], missing, { type: "ask", ...header, view, step });
    }
    return (missing.length === 0 || isOver) && enough && !isSettling ? this.#plan(answers) : "wait";
  }

  #plan(answers: Answers): Verdict {
    const { place } = this.#step;
    const { plan, withoutSlow } = makePlan(this.ballot, place, this.least, answers, this.#complaints);
    if (plan === null || (!withoutSlow && this.#keptSlow)) return "next_view";
    if (!plan.alive.includes(place)) return "left_out";
    if (!withoutSlow) {
      // If all are slow nobody is to blame; complaints of those that stay slow come again.
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

  /** Sends the plan to all, and who has to send which mean to those. */
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
  /** It takes part in nothing below. */
  promised = FIRST;
  /** It entered the view by itself, and the view's leader did not ask it yet. */
  changing = false;
  /** The others' latest frames. */
  readonly changes = new Map<number, FrameOf<"change">>();
  /** Only while this member leads. */
  leader: Leader | null;
  /** Why it finds no leader, for people. */
  failure: string | null = null;
  /** Leaders that left their view: they reach too few members. Forgotten when a link comes up. */
  readonly #unable = new Set<number>();

  constructor(
    step: GroupStep,
    private readonly least: number,
  ) {
    this.#step = step;
    this.#links = step.links;
    this.leader = step.place === 0 ? new Leader(step, least, FIRST, true) : null;
  }

  /** The place that leads this view. */
  leaderOf(view: number): number {
    return view % this.#step.count;
  }

  /** Whether it promised no step beyond the one that it follows. */
  get isCurrent(): boolean {
    return compareBallots(this.promised, this.#step.plan.ballot) === 0;
  }

  // Frames and links.

  /** A link is up: leaders that reached too few members may reach enough now. */
  linkUp(place: number): void {
    this.#links.connect(place);
    this.#unable.clear();
  }

  /** A leader wants to plan another step. */
  addAsk(place: number, { view, step }: FrameOf<"ask">): void {
    const isNewer = compareBallots([view, step], this.promised) > 0;
    if (this.leaderOf(view) === place && isNewer) this.#promise([view, step]);
  }

  /** A leader planned a step. */
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
    const areMembers = alive.every((place) => place < count) && alive.length >= this.least;
    const areOwned = frame.owners.length === parts && frame.owners.every((owner) => alive.includes(owner));
    return this.#step.isComplete(frame) && areMembers && areOwned;
  }

  /** A member wants another view. */
  addChange(place: number, frame: FrameOf<"change">): void {
    if (frame.view >= MAX_TERMS * this.#step.count || !this.#step.isComplete(frame)) return;
    this.changes.set(place, frame);
    const [view] = this.promised;
    if (this.leaderOf(view) === place && frame.view > view) this.#unable.add(place);
  }

  // Moves to another view.

  /** Moves to another view if this one fails. */
  checkLeader(): void {
    const { count, place } = this.#step;
    const [view] = this.promised;
    const leader = this.leaderOf(view);
    const ahead = this.#membersAhead();
    if (ahead.includes(leader) || count - ahead.length < this.least) this.#join(ahead);
    else if (leader === place ? this.#isUnprepared : this.#isFailed(leader)) this.#enter(view + 1);
  }

  /** Does what a leader has to do now; returns whether the result is decided. */
  lead(): boolean {
    if (this.leader === null) return false;
    const ahead = this.#membersAhead();
    const verdict = this.leader.lead(this.changes, ahead);
    if (verdict === "next_step" && ahead.length > 0) this.#join(ahead);
    else if (verdict === "next_step") {
      this.leader.beginNextStep();
      this.promised = this.leader.ballot;
    } else if (verdict === "next_view") this.#enter(this.promised[0] + 1);
    else if (verdict === "left_out") this.failure = "The others have to go on without this member.";
    return verdict === "decided";
  }

  /** The members that can be reached, but are in a higher view. */
  #membersAhead(): number[] {
    const [view] = this.promised;
    return [...this.changes].flatMap(([place, change]) =>
      change.view > view && !this.#links.isLost(place) ? [place] : [],
    );
  }

  #join(ahead: Places): void {
    this.#enter(Math.max(...ahead.map((place) => this.changes.get(place)?.view ?? 0)));
  }

  /** Enters the first view from `view` on whose leader can lead; fails if there is none. */
  #enter(view: number): void {
    const { count, place } = this.#step;
    for (let candidate = view; candidate < Math.min(view + count, MAX_TERMS * count); candidate++) {
      const leader = this.leaderOf(candidate);
      if (!this.#canLead(leader)) continue;
      this.#promise([candidate, 0]);
      this.changing = true;
      if (leader === place) this.leader = new Leader(this.#step, this.least, [candidate, 0]);
      return;
    }
    this.failure = `${this.#links.reachable} of at least ${this.least} members can be talked to.`;
  }

  #promise(ballot: Ballot): void {
    if (ballot[0] !== this.promised[0]) this.leader = null;
    this.promised = ballot;
    this.changing = false;
  }

  #canLead(place: number): boolean {
    if (place === this.#step.place) return this.#links.reachable >= this.least && !this.#isUnprepared;
    return !(this.#links.isLost(place) || this.#step.received.unfit.has(place) || this.#unable.has(place));
  }

  /** An unfit leader learns of it by complaints first, and gives up if it is only broken. */
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
