/**
 * The all-reduce machine of one member of a group: events in, effects out, no I/O. It knows digests of means, not vectors:
 * the host has the bytes (group-events.ts). docs/reference/mesh.md has the protocol, 0026 its proof. The twin is
 * backend/protocols/mesh/allreduce/member.py; both languages replay tests/contract/vectors/allreduce.json.
 *
 *     preparing ── own vector encoded ──> averaging ── decided ──> finished
 *         └───────────── decided without this member, or no majority ──> failed
 *
 * The state alone determines what to send: after every event the machine sends each member the frames that it did not get
 * on its current link. So nothing is lost when a link comes back.
 */

import { later } from "../../core/user-messages";
import type { GroupOrder } from "../wire/mesh";
import type { Control, Effect, Event, FrameOf } from "./group-events";
import { Views } from "./leader";
import { compareBallots, leastMembers, weightFraction } from "./plan";
import { GroupStep } from "./step";

export type MemberPhase = "preparing" | "averaging" | "finished" | "failed";

/** An unprepared member can finish if it received all means. */
export const TRANSITIONS: Readonly<Record<MemberPhase, ReadonlySet<MemberPhase>>> = {
  preparing: new Set(["averaging", "finished", "failed"]),
  averaging: new Set(["finished", "failed"]),
  finished: new Set(),
  failed: new Set(),
};

/** After the end, events only maintain the links, on which members that still ask get the result. */
const AT_END: readonly Event["type"][] = ["heard", "linked", "lost", "silent"];
const AT_ALL_TIMES: readonly Event["type"][] = [...AT_END, "piece_came", "mean_came", "unfit", "time_passed"];

/** The events that are legal in each phase; any other event changes nothing. */
export const EVENTS: Readonly<Record<MemberPhase, ReadonlySet<Event["type"]>>> = {
  preparing: new Set([...AT_ALL_TIMES, "prepared"]),
  averaging: new Set([...AT_ALL_TIMES, "reduced"]),
  finished: new Set(AT_END),
  failed: new Set(AT_END),
};

/** The member at `place` in the group of `order`, received at `now` (seconds). Owned by its host alone. */
export class AllReduce {
  #phase: MemberPhase = "preparing";
  readonly #step: GroupStep;
  readonly #views: Views;
  /** The frame that reports this member's end, sent to every member that does not know it yet. */
  #final: FrameOf<"decide" | "give_up"> | null = null;

  /** Throws a RangeError if the order contradicts itself. */
  constructor(order: GroupOrder, place: number, now: number) {
    const minimum = leastMembers(order, place);
    this.#step = new GroupStep(order, place, now);
    this.#views = new Views(this.#step, minimum);
  }

  // The host's interface.

  get phase(): MemberPhase {
    return this.#phase;
  }

  /** Whether the group ended for this member, with a result or without. */
  get over(): boolean {
    return this.#final !== null;
  }

  /** Takes an event and returns the effects. An illegal event changes nothing. */
  happened(event: Event, now: number): readonly Effect[] {
    const { links } = this.#step;
    links.now = Math.max(now, links.now);
    if (EVENTS[this.#phase].has(event.type)) this.#take(event);
    if (!this.over) this.#proceed();
    const { effects } = links;
    links.effects = [];
    return effects;
  }

  /** Returns when `time_passed` is due next, unless another event comes before. */
  timer(): number | null {
    if (this.over) return null;
    const { ends, links, order, slowAt } = this.#step;
    const { leader } = this.#views;
    const { patience } = order;
    const times = [ends + 2 * patience, slowAt, slowAt + patience, ...links.deadlines()];
    if (leader !== null && !leader.planned) {
      times.push(leader.since + patience, leader.since + 2 * patience);
    }
    const due = Math.min(...times.filter((time) => time > links.now));
    return due === Number.POSITIVE_INFINITY ? null : due;
  }

  // Events.

  #take(event: Event): void {
    const { links, parts, place, received } = this.#step;
    if (event.type === "time_passed") return;
    if (event.type === "prepared") {
      this.#prepare(event);
      return;
    }
    if (event.type === "reduced") {
      if (received.reducing.delete(event.part)) received.addMean(event, place);
      return;
    }
    if (event.type === "unfit" && event.place === place) this.#giveUp(event.reason);
    if (!links.others.includes(event.place)) return;
    switch (event.type) {
      case "heard":
        this.#takeFrame(event.place, event.frame);
        return;
      case "piece_came":
        if (event.part < parts) received.addPiece(event);
        return;
      case "mean_came":
        if (event.part < parts) received.addMean(event, event.place);
        return;
      case "unfit":
        received.markUnfit(event.place, event.reason);
        return;
      case "linked":
        this.#views.linkUp(event.place);
        return;
      case "lost":
        links.disconnect(event.place);
        return;
      case "silent":
        links.markSilent(event.place);
    }
  }

  #prepare(event: Extract<Event, { readonly type: "prepared" }>): void {
    const error = this.#step.received.prepare(event);
    if (error === null) this.#enter("averaging");
    else this.#giveUp(error);
  }

  #takeFrame(place: number, frame: Control): void {
    const { count, links } = this.#step;
    if (frame.type === "decide") {
      if (!this.over && this.#isResult(frame)) this.#finish(frame);
      return;
    }
    if (frame.type === "give_up") {
      links.markEnded(place);
      return;
    }
    if (this.#final !== null) {
      links.send(["end"], [place], this.#final);
      return;
    }
    switch (frame.type) {
      case "begin":
        this.#step.received.addBegin(place, frame);
        return;
      case "complain":
        if (frame.place < count && frame.place !== place) {
          this.#views.leader?.addComplaint(place, frame.place, frame.fault);
        }
        return;
      case "holds":
        this.#views.leader?.addAnswer(place, frame);
        return;
      case "ask":
        this.#views.addAsk(place, frame);
        return;
      case "config":
        this.#views.addConfig(place, frame);
        return;
      case "change":
        this.#views.addChange(place, frame);
        return;
      case "give":
        this.#addHandover(frame);
    }
  }

  /** Takes a leader's request to send a mean that this member has. */
  #addHandover({ view, step, part, places }: FrameOf<"give">): void {
    const { handovers, links, plan } = this.#step;
    const isCurrent = compareBallots([view, step], plan.ballot) === 0;
    if (!isCurrent || (plan.parts[part]?.length ?? 0) === 0) return;
    for (const place of places) if (links.others.includes(place)) handovers.push({ part, place });
  }

  // Actions that follow from the state.

  /** Sends what is due, and follows leaders, until nothing changes any more. */
  #proceed(): void {
    const step = this.#step;
    const views = this.#views;
    if (step.links.now >= step.ends + 2 * step.order.patience)
      this.#giveUp(later("The group's time is over."));
    while (!this.over) {
      const { promised } = views;
      const { plan, accepted } = step;
      views.checkLeader();
      if (views.failure === null) {
        this.#exchange();
        if (views.lead()) this.#decide();
      }
      if (views.failure !== null) this.#giveUp(views.failure);
      const moved = compareBallots(promised, views.promised) !== 0;
      if (!moved && plan === step.plan && accepted === step.accepted) return;
    }
  }

  #exchange(): void {
    const { isPrepared, place, plan } = this.#step;
    this.#announce();
    if (!isPrepared || !plan.alive.includes(place)) return;
    this.#step.exchange(this.#views.promised);
    if (!this.#views.isCurrent) return;
    this.#accept();
    this.#complain();
  }

  /** Sends what the others always need: `begin`, unfit members, and the means of this member. */
  #announce(): void {
    const { header, isPrepared, isSettling, links, place, received } = this.#step;
    const { changing, isCurrent, promised } = this.#views;
    const [view, step] = promised;
    const leader = this.#views.leaderOf(view);
    if (isPrepared) {
      const weight = received.weights.get(place) ?? 0;
      const commitments = received.commitments.get(place) ?? [];
      const { key } = received;
      links.send(["begin"], links.others, { type: "begin", ...header, weight, commitments, key });
    }
    if (this.#views.leader === null) {
      // Sent before the answer, so that the leader's plan excludes these members.
      for (const [one, reason] of received.unfit) {
        const complaint = { type: "complain", ...header, place: one, fault: "unfit", reason } as const;
        links.send(["unfit", view, one], [leader], complaint);
      }
    }
    const isAsked = leader !== place && !isCurrent;
    if (isSettling || !(changing || isAsked)) return;
    const { ballot: held, parts, weights } = this.#step.answer;
    if (changing) {
      const change = { type: "change", ...header, view, held, parts, weights } as const;
      links.send(["change", view], links.others, change);
    } else {
      const holds = { type: "holds", ...header, view, step, held, parts, weights } as const;
      links.send(["answer", ...promised], [leader], holds);
    }
  }

  /** Accepts the step once all its means have arrived, and notifies the leader. */
  #accept(): void {
    const { header, links, plan } = this.#step;
    const answer = this.#step.accept();
    if (answer === null) return;
    if (this.#views.leader !== null) {
      this.#views.leader.addOwnAcceptance(answer);
      return;
    }
    const { ballot: held, parts, weights } = answer;
    const [view, step] = plan.ballot;
    const holds = { type: "holds", ...header, view, step, held, parts, weights } as const;
    links.send(["holds", ...plan.ballot], [this.#views.leaderOf(view)], holds);
  }

  /** Complains to the leader of members that this one waits for. */
  #complain(): void {
    const { hasAccepted, header, links, place, plan } = this.#step;
    if (hasAccepted) return;
    const leader = this.#views.leaderOf(plan.ballot[0]);
    for (const one of plan.alive) {
      const fault = one === place ? null : this.#step.fault(one);
      if (fault === null) continue;
      if (this.#views.leader !== null) {
        this.#views.leader.addComplaint(place, one, fault);
        continue;
      }
      const reason = `Nothing arrives from place ${one}.`;
      const complaint = { type: "complain", ...header, place: one, fault, reason } as const;
      links.send(["complain", ...plan.ballot, one, fault], [leader], complaint);
    }
  }

  // The end.

  /** Decides the result: all members of the plan accepted the same means. Only a leader decides. */
  #decide(): void {
    const { accepted, header, links, plan, received } = this.#step;
    if (accepted === null) return;
    const { parts, weights } = accepted;
    const contributors = parts.map((digest, part) => received.contributors(part, digest) ?? []);
    const [view, step] = plan.ballot;
    const result = { survivors: plan.alive, parts, contributors, weights };
    const decide = { type: "decide", ...header, view, step, ...result } as const;
    this.#finish(decide);
    links.send(["end"], links.others, decide);
  }

  #isResult({ survivors, parts, contributors, weights }: FrameOf<"decide">): boolean {
    const step = this.#step;
    const isComplete = parts.length === step.parts && contributors.length === step.parts;
    const places = [...survivors, ...contributors.flat()];
    return isComplete && weights.length === step.count && places.every((place) => place < step.count);
  }

  /** Takes the result if all its means have arrived, and sends it to members that want another leader. */
  #finish(frame: FrameOf<"decide">): void {
    const { links, order, received } = this.#step;
    const { parts, contributors, survivors, weights } = frame;
    this.#final = frame;
    links.send(["end"], [...this.#views.changes.keys()], frame);
    if (!parts.every((digest, part) => received.contributors(part, digest) !== null)) {
      this.#enter("failed");
      links.effects.push({ type: "fail", reason: later("The group continued without this member.") });
      return;
    }
    this.#enter("finished");
    const lengths = order.bounds.slice(1).map((end, part) => end - (order.bounds[part] as number));
    const fraction = weightFraction(lengths, contributors, weights);
    links.effects.push({ type: "finish", parts, contributors, survivors, weights, fraction });
  }

  /** Ends without a result, and takes none later; `reason` is for people. */
  #giveUp(reason: string): void {
    const { header, links } = this.#step;
    const [view] = this.#views.promised;
    this.#enter("failed");
    this.#final = { type: "give_up", ...header, view, reason };
    links.send(["end"], links.others, this.#final);
    links.effects.push({ type: "fail", reason });
  }

  #enter(phase: MemberPhase): void {
    if (!TRANSITIONS[this.#phase].has(phase)) {
      throw new Error(`A member cannot go from ${this.#phase} to ${phase}.`);
    }
    this.#phase = phase;
  }
}
