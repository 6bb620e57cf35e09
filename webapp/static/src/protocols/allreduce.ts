/**
 * A member of a group that averages, as a machine without I/O. It knows digests of means, not vectors: its host has the bytes
 * (allreduce-events.ts). `backend/protocols/allreduce.py` is the twin, docs/decisions/0025-mesh.md has the protocol, and
 * tests/vectors/allreduce.json conversations that both languages replay.
 *
 * What is to be said follows from the state alone: after every event the machine says to each member what that was not told
 * yet over its present link. So nothing is lost when a link comes back.
 */

import type { GroupOrder } from "../shared/wire-mesh";
import { Arrived, range } from "./allreduce-arrived";
import type { Control, Effect, Event, Places } from "./allreduce-events";
import { Leadership } from "./allreduce-leader";
import { LinkBook, type Said } from "./allreduce-links";
import {
  type Answer,
  type Ballot,
  compareBallots,
  fraction,
  gifts,
  NONE,
  type Plan,
  planned,
} from "./allreduce-plan";
import { type Handed, Step } from "./allreduce-step";
import { answerOf, ballotOf, type Fault, type FrameOf, Words } from "./allreduce-words";

/** Each place may lead so often; then it is clear that no majority can talk. */
const LAPS = 3;

/** Of two members each could take its own values from the sum. */
const LEAST_MASKED = 3;

/** The member at `place` of the group of `order`, which it got at `now` (seconds). Owned by its host alone. */
export class AllReduce {
  over = false;
  readonly #order: GroupOrder;
  readonly #place: number;
  readonly #count: number;
  readonly #parts: number;
  readonly #least: number;
  readonly #others: Places;
  readonly #links: LinkBook;
  readonly #ends: number;
  #now: number;
  #slowAt: number;
  #out: Effect[] = [];
  readonly #words: Words;
  readonly #arrived: Arrived;
  readonly #step: Step;
  #prepared = false;
  /** Public, of this group; empty where nothing is masked. */
  #key: Uint8Array = NONE;
  readonly #quit = new Set<number>();
  /** Who led a view, and made way: it had not enough to lead. Forgotten when a link comes up. */
  readonly #unable = new Set<number>();
  // Where it stands: what it promised, and what it accepted last, besides the step that it knows.
  #promised: Ballot = [0, 1];
  #accepted: Answer | null = null;
  #changing = false;
  readonly #changes = new Map<number, FrameOf<"change">>();
  #leading: Leadership | null;
  #toldAtEnd: FrameOf<"decide" | "give_up"> | null = null;

  /** Throws a RangeError where the order contradicts itself. */
  constructor(order: GroupOrder, place: number, now: number) {
    this.#order = order;
    this.#place = place;
    this.#count = order.members.length;
    this.#parts = order.bounds.length - 1;
    const fits = this.#parts === (order.exchange === "full" ? 1 : this.#count);
    if (!fits || place < 0 || place >= this.#count) {
      throw new RangeError("The group's bounds do not fit its members and its exchange.");
    }
    const masked = order.precision === "masked";
    if (masked && (order.exchange !== "butterfly" || order.reducer !== "mean")) {
      throw new RangeError("Masked pieces need the exchange butterfly and a plain mean.");
    }
    this.#least = Math.max(order.least, Math.floor(this.#count / 2) + 1, masked ? LEAST_MASKED : 0);
    if (this.#count < this.#least) {
      throw new RangeError(`The group has ${this.#count} members and needs ${this.#least}.`);
    }
    this.#now = now;
    this.#ends = now + order.seconds;
    this.#slowAt = now + order.seconds / 2;
    this.#others = range(this.#count).filter((one) => one !== place);
    this.#links = new LinkBook(this.#others, order.patience / 2, now + order.patience);
    this.#words = new Words(order);
    this.#arrived = new Arrived(order, place);
    this.#step = new Step(order, place, this.#arrived, this.#links);
    this.#leading = place === 0 ? new Leadership([0, 1], now, true) : null;
  }

  /** What follows from this. An event that makes no sense changes nothing. */
  happened(event: Event, now: number): readonly Effect[] {
    this.#now = Math.max(now, this.#now);
    this.#take(event);
    if (!this.over) this.#goOn();
    const effects = this.#out;
    this.#out = [];
    return effects;
  }

  /** When `time_passed` is due next, unless something happens before. */
  timer(): number | null {
    if (this.over) return null;
    const { patience } = this.#order;
    const times = [
      this.#ends + 2 * patience,
      this.#slowAt,
      this.#slowAt + patience,
      ...this.#links.deadlines(),
    ];
    if (this.#leading !== null && !this.#leading.planned) {
      times.push(this.#leading.since + patience, this.#leading.since + 2 * patience);
    }
    const due = Math.min(...times.filter((time) => time > this.#now));
    return due === Number.POSITIVE_INFINITY ? null : due;
  }

  // What comes.

  #take(event: Event): void {
    if (event.type === "time_passed") return;
    if (event.type === "prepared") {
      if (!this.#prepared && !this.over) this.#prepare(event);
      return;
    }
    if (event.type === "reduced") {
      if (this.#arrived.reducing.delete(event.part)) this.#arrived.keep(event, this.#place);
      return;
    }
    if (event.type === "unfit" && event.place === this.#place && !this.over) this.#giveUp(event.reason);
    if (!this.#others.includes(event.place)) return;
    switch (event.type) {
      case "heard":
        this.#heard(event.place, event.frame);
        return;
      case "piece_came":
        if (event.part < this.#parts) this.#arrived.pieceCame(event);
        return;
      case "mean_came":
        if (event.part < this.#parts) this.#arrived.keep(event, event.place);
        return;
      case "unfit":
        this.#arrived.refuse(event.place, event.reason);
        return;
      case "linked":
        this.#links.linked(event.place);
        this.#unable.clear();
        return;
      case "lost":
        this.#links.lost(event.place, this.#now);
        return;
      case "silent":
        this.#links.silent(event.place, this.#now);
    }
  }

  #prepare(own: Extract<Event, { readonly type: "prepared" }>): void {
    const reason = this.#arrived.misfit(own);
    if (reason !== null) {
      this.#giveUp(reason);
      return;
    }
    this.#prepared = true;
    this.#key = own.key;
    this.#arrived.weights.set(this.#place, own.weight);
    this.#arrived.commitments.set(this.#place, own.commitments);
  }

  #heard(place: number, frame: Control): void {
    if (frame.type === "decide") {
      if (!this.over && this.#fits(frame)) this.#decided(frame);
      return;
    }
    if (frame.type === "give_up") {
      this.#quit.add(place);
      return;
    }
    if (this.over) {
      if (this.#toldAtEnd !== null) this.#say(["end"], [place], this.#toldAtEnd);
      return;
    }
    switch (frame.type) {
      case "begin":
        this.#arrived.begun(place, frame);
        return;
      case "complain":
        this.#complained(place, frame);
        return;
      case "holds":
        this.#holds(place, frame);
        return;
      case "ask": {
        const ballot: Ballot = [frame.view, frame.step];
        const newer = compareBallots(ballot, this.#promised) > 0;
        if (this.#leader(frame.view) === place && newer) this.#follow(ballot);
        return;
      }
      case "config":
        if (this.#leader(frame.view) === place) this.#configured(frame);
        return;
      case "give": {
        const now = compareBallots([frame.view, frame.step], this.#plan.ballot) === 0;
        const made = (this.#plan.parts[frame.part]?.length ?? 0) > 0;
        const places = frame.places.filter((one) => this.#others.includes(one));
        if (now && made) this.#step.handed.push(...places.map((one) => ({ part: frame.part, place: one })));
        return;
      }
      case "change":
        if (frame.view < LAPS * this.#count && this.#isWhole(frame)) this.#asked(place, frame);
    }
  }

  #asked(place: number, change: FrameOf<"change">): void {
    const [view] = this.#promised;
    this.#changes.set(place, change);
    if (this.#leader(view) === place && change.view > view) this.#unable.add(place);
  }

  #complained(by: number, { place, fault }: FrameOf<"complain">): void {
    if (this.#leading === null || place >= this.#count || place === by) return;
    this.#note(this.#leading, by, place, fault);
  }

  #note(leading: Leadership, by: number, of: number, fault: Fault): void {
    // In a ring everybody waits for everybody: without it, it will show who is slow.
    if (fault === "slow" && this.#step.isRing) leading.news = true;
    else leading.complained(by, of, fault);
  }

  #holds(place: number, frame: FrameOf<"holds">): void {
    const leading = this.#leading;
    const { view, step, parts } = frame;
    if (leading === null || compareBallots(leading.ballot, [view, step]) !== 0 || !this.#isWhole(frame))
      return;
    if (!leading.planned) leading.answers.set(place, answerOf(frame));
    else if (compareBallots(ballotOf(frame.held), leading.ballot) === 0) leading.accepted.set(place, parts);
  }

  #isWhole({ parts, weights }: FrameOf<"holds" | "change" | "config">): boolean {
    return parts.length === this.#parts && weights.length === this.#count;
  }

  #configured(frame: FrameOf<"config">): void {
    const { owners, parts, weights } = frame;
    const ballot: Ballot = [frame.view, frame.step];
    const alive = [...new Set(frame.alive)].sort((a, b) => a - b);
    const members = alive.every((place) => place < this.#count);
    const owned = owners.length === this.#parts && owners.every((owner) => alive.includes(owner));
    const fits = members && owned && alive.length >= this.#least;
    const known = compareBallots(ballot, this.#plan.ballot) === 0;
    if (compareBallots(ballot, this.#promised) < 0 || known || !this.#isWhole(frame) || !fits) return;
    this.#follow(ballot);
    this.#adopt({ ballot, alive, owners, parts, weights, first: false });
  }

  // Views.

  #leader(view: number): number {
    return view % this.#count;
  }

  /** Takes part in nothing below `ballot` any more. */
  #follow(ballot: Ballot): void {
    if (ballot[0] !== this.#promised[0]) this.#leading = null;
    this.#promised = ballot;
    this.#changing = false;
  }

  #gone(place: number): boolean {
    return this.#quit.has(place) || this.#links.gone(place, this.#now);
  }

  /** How many can talk to this member, itself included. */
  #reach(): number {
    return 1 + this.#others.filter((place) => !this.#gone(place)).length;
  }

  /** Moves to another view if this one comes to nothing. */
  #mindLeader(): void {
    const view = this.#promised[0];
    const leader = this.#leader(view);
    const moved = this.#moved(view);
    if (moved.includes(leader) || this.#count - moved.length < this.#least) {
      this.#move(this.#highest(moved));
    } else if (leader === this.#place ? this.#late() : this.#isHopeless(leader)) this.#move(view + 1);
  }

  /** Nothing is to be expected of it. An unfit leader is told so, and gives up if it is only broken. */
  #isHopeless(leader: number): boolean {
    return this.#gone(leader) || (this.#arrived.unfit.has(leader) && this.#now >= this.#slowAt);
  }

  /** Who is there, but in a higher view. */
  #moved(view: number): number[] {
    return [...this.#changes].flatMap(([place, change]) =>
      change.view > view && !this.#gone(place) ? [place] : [],
    );
  }

  #highest(moved: Places): number {
    return Math.max(...moved.map((place) => this.#changes.get(place)?.view ?? 0));
  }

  /** A member that is not prepared in time should not lead: the others go on without it. */
  #late(): boolean {
    return !this.#prepared && this.#now >= this.#slowAt;
  }

  /** To the first view from `view` on whose leader is there; gives up where nobody is. */
  #move(view: number): void {
    for (let candidate = view; candidate < Math.min(view + this.#count, LAPS * this.#count); candidate++) {
      const leader = this.#leader(candidate);
      const own = leader === this.#place;
      if (!(own ? this.#reach() >= this.#least && !this.#late() : this.#canLead(leader))) continue;
      this.#follow([candidate, 0]);
      this.#changing = true;
      if (own) this.#leadView(candidate);
      return;
    }
    this.#giveUp(`${this.#reach()} of at least ${this.#least} members can be talked to.`);
  }

  #canLead(place: number): boolean {
    return !this.#gone(place) && !this.#arrived.unfit.has(place) && !this.#unable.has(place);
  }

  #leadView(view: number): void {
    this.#leading = new Leadership([view, 0], this.#now);
    this.#countChanges(this.#leading);
  }

  /** Who asked for this view has answered its first question. */
  #countChanges(leading: Leadership): void {
    if (leading.planned) return;
    for (const [place, change] of this.#changes) {
      const asked = compareBallots([change.view, 0], leading.ballot) === 0;
      if (asked && !leading.answers.has(place)) leading.answers.set(place, answerOf(change));
    }
  }

  // What follows.

  /** Says and does all that the state asks for now. */
  #goOn(): void {
    if (this.#now >= this.#ends + 2 * this.#order.patience) this.#giveUp("The group's time is over.");
    while (!this.over) {
      const [promised, plan, accepted] = [this.#promised, this.#plan, this.#accepted];
      this.#mindLeader();
      if (!this.over) this.#exchange();
      if (!this.over && this.#leading !== null) this.#lead(this.#leading);
      const moved = compareBallots(promised, this.#promised) !== 0;
      if (!moved && plan === this.#plan && accepted === this.#accepted) return;
    }
  }

  #say(what: Said, places: Places, frame: Control): void {
    const fresh = this.#links.untold(what, places);
    if (fresh.length > 0) this.#out.push({ type: "send", places: fresh, frame });
  }

  get #plan(): Plan {
    return this.#step.plan;
  }

  /** What it holds: what it accepted last, or else any mean of each part. */
  get #answer(): Answer {
    return this.#accepted ?? this.#step.answer;
  }

  #exchange(): void {
    this.#talk();
    if (!this.#prepared || !this.#plan.alive.includes(this.#place)) return;
    this.#out.push(...this.#step.work(this.#promised));
    this.#accept();
    this.#complain();
  }

  /** What others have to know in any case. */
  #talk(): void {
    const view = this.#promised[0];
    const leader = this.#leader(view);
    if (this.#prepared) {
      const { weights, commitments } = this.#arrived;
      const [weight, told] = [weights.get(this.#place) ?? 0, commitments.get(this.#place) ?? []];
      this.#say(["begin"], this.#others, this.#words.begin(weight, told, this.#key));
    }
    if (this.#leading === null) {
      // Before its answer, so that the leader knows whom to go on without when it plans.
      for (const [place, reason] of this.#arrived.unfit) {
        this.#say(["unfit", view, place], [leader], this.#words.complain(place, "unfit", reason));
      }
    }
    if (this.#step.settling) return;
    if (this.#changing) {
      this.#say(["change", view], this.#others, this.#words.change(view, this.#answer));
    } else if (leader !== this.#place && compareBallots(this.#promised, this.#plan.ballot) !== 0) {
      this.#say(["answer", ...this.#promised], [leader], this.#words.holds(this.#promised, this.#answer));
    }
  }

  /** Says to the leader, once a step, that it holds all that this step wants. */
  #accept(): void {
    const { ballot } = this.#plan;
    if (compareBallots(this.#promised, ballot) !== 0) return;
    const answer = this.#hasAccepted() ? this.#accepted : this.#step.acceptable;
    if (answer === null) return;
    this.#accepted = answer;
    if (this.#leading !== null) {
      this.#leading.accepted.set(this.#place, answer.parts);
      return;
    }
    this.#say(["holds", ...ballot], [this.#leader(ballot[0])], this.#words.holds(ballot, answer));
  }

  #hasAccepted(): boolean {
    return this.#accepted !== null && compareBallots(this.#accepted.held, this.#plan.ballot) === 0;
  }

  // Complaints.

  #complain(): void {
    if (compareBallots(this.#promised, this.#plan.ballot) !== 0 || this.#hasAccepted()) return;
    const leader = this.#leader(this.#promised[0]);
    for (const place of this.#plan.alive) {
      const fault = place === this.#place ? null : this.#fault(place);
      if (fault === null) continue;
      if (this.#leading !== null) {
        this.#note(this.#leading, this.#place, place, fault);
        continue;
      }
      const reason = `Nothing comes from place ${place}.`;
      const complaint = this.#words.complain(place, fault, reason);
      this.#say(["complain", ...this.#plan.ballot, place, fault], [leader], complaint);
    }
  }

  #fault(place: number): Fault | null {
    return this.#step.fault(place, this.#gone(place), this.#now - this.#slowAt);
  }

  // What only the leader does.

  #lead(leading: Leadership): void {
    const view = this.#promised[0];
    this.#countChanges(leading);
    for (const place of this.#arrived.unfit.keys()) leading.complained(this.#place, place, "unfit");
    const moved = this.#moved(view);
    const left = this.#others.filter((place) => !this.#gone(place) && !moved.includes(place));
    if (!leading.planned) {
      this.#gather(leading, left);
      return;
    }
    this.#sayPlan(leading);
    const { alive } = this.#plan;
    const agreed = leading.agreed(alive);
    const lost = alive.some((place) => place !== this.#place && !left.includes(place));
    if (agreed) this.#decide();
    else if (agreed === false || leading.news || lost) this.#leadAgain(leading);
  }

  /** With the next step; or in a higher view, if somebody that is there went on to one. */
  #leadAgain(leading: Leadership): void {
    const moved = this.#moved(leading.ballot[0]);
    if (moved.length > 0) {
      this.#move(this.#highest(moved));
      return;
    }
    leading.again(this.#now);
    this.#promised = leading.ballot;
  }

  /** Waits for answers, and plans the step when they are there. */
  #gather(leading: Leadership, members: Places): void {
    const [view, step] = leading.ballot;
    leading.answers.set(this.#place, this.#answer);
    const answers = new Map(
      [this.#place, ...members].flatMap((place) => {
        const answer = leading.answers.get(place);
        return answer ? [[place, answer] as const] : [];
      }),
    );
    const waiting = members.filter((place) => !answers.has(place));
    const over = this.#now >= leading.since + this.#order.patience * (step > 0 ? 2 : 1);
    const enough = answers.size >= this.#least;
    if (1 + members.length < this.#least || (over && !enough)) {
      this.#move(view + 1);
      return;
    }
    if (step > 0 || enough) this.#say(["ask", view, step], waiting, this.#words.ask(leading.ballot));
    if ((waiting.length > 0 && !over) || !enough || this.#step.settling) return;
    const { ballot, troubles } = leading;
    const { plan, heeded } = planned(ballot, this.#place, this.#least, answers, troubles);
    // Without slow members too few are left: perhaps another leader reaches more.
    if (plan === null || (!heeded && leading.passedOver)) this.#move(view + 1);
    else if (!plan.alive.includes(this.#place)) {
      this.#giveUp("The others have to go on without this member.");
    } else {
      leading.planned = true;
      leading.news = false;
      leading.accepted.clear();
      // Everybody is slow: that says nothing of anybody. Who still is, is complained of again.
      if (!heeded) {
        troubles.slow.clear();
        leading.passedOver = true;
      }
      this.#adopt(plan);
      leading.gifts = gifts(plan, answers, troubles);
      const own = leading.gifts.filter(({ giver }) => giver === this.#place);
      this.#step.handed = own.map(({ part, receiver }): Handed => ({ part, place: receiver }));
    }
  }

  #adopt(plan: Plan): void {
    const gone = this.#plan.alive.filter((place) => place !== this.#place && !plan.alive.includes(place));
    this.#step.plan = plan;
    this.#step.handed = [];
    this.#slowAt = this.#now + Math.max((this.#ends - this.#now) / 2, this.#order.patience);
    for (const place of gone) {
      this.#links.forget(place);
      this.#out.push({ type: "without", place });
    }
  }

  /** The plan, and who has to hand on what. */
  #sayPlan(leading: Leadership): void {
    const { ballot, first } = this.#plan;
    if (first) return;
    this.#say(["config", ...ballot], this.#others, this.#words.config(this.#plan));
    const late = this.#now >= this.#slowAt + this.#order.patience;
    const others = new Map<
      string,
      { readonly giver: number; readonly part: number; readonly places: number[] }
    >();
    for (const { giver, receiver, part } of leading.gifts) {
      if (late && !leading.accepted.has(receiver)) leading.complained(receiver, giver, "slow");
      if (giver === this.#place) continue;
      const places = others.get(`${giver}/${part}`)?.places ?? [];
      others.set(`${giver}/${part}`, { giver, part, places: [...places, receiver] });
    }
    for (const { giver, part, places } of others.values()) {
      this.#say(["give", ...ballot, part], [giver], this.#words.give(ballot, part, places));
    }
  }

  // How it ends.

  /** All alive hold the same: that is the result. */
  #decide(): void {
    const answer = this.#accepted;
    if (answer === null) return;
    const contributors = answer.parts.map((digest, part) => this.#arrived.contributors(part, digest) ?? []);
    const decide = this.#words.decide(this.#plan, answer, contributors);
    this.#decided(decide);
    this.#say(["end"], this.#others, decide);
  }

  #fits({ survivors, parts, contributors, weights }: FrameOf<"decide">): boolean {
    const whole = parts.length === this.#parts && contributors.length === this.#parts;
    const places = [...survivors, ...contributors.flat()];
    return whole && weights.length === this.#count && places.every((place) => place < this.#count);
  }

  /** Takes the result, if it holds all of it, and tells those who asked for another leader. */
  #decided(frame: FrameOf<"decide">): void {
    this.over = true;
    this.#toldAtEnd = frame;
    this.#say(["end"], [...this.#changes.keys()], frame);
    const { parts, contributors, survivors, weights } = frame;
    if (!parts.every((digest, part) => this.#arrived.contributors(part, digest) !== null)) {
      this.#out.push({ type: "fail", reason: "The group went on without this member." });
      return;
    }
    const { bounds } = this.#order;
    const lengths = bounds.slice(1).map((end, part) => end - (bounds[part] as number));
    const share = fraction(lengths, contributors, weights);
    this.#out.push({ type: "finish", parts, contributors, survivors, weights, fraction: share });
  }

  #giveUp(reason: string): void {
    this.over = true;
    const frame = this.#words.giveUp(this.#promised[0], reason);
    this.#toldAtEnd = frame;
    this.#say(["end"], this.#others, frame);
    this.#out.push({ type: "fail", reason });
  }
}
