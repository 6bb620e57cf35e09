/**
 * A member of a group that averages, as a machine without I/O. It knows digests of means, not vectors: its host has the bytes
 * (events.ts). `backend/protocols/mesh/allreduce/member.py` is the twin, docs/decisions/0025-mesh.md has the protocol, 0026 why it
 * is safe and what its parts do, and tests/contract/vectors/allreduce.json conversations that both languages
 * replay.
 *
 * What is to be said follows from the state alone: after every event the machine says to each member what that was not told
 * yet over its present link. So nothing is lost when a link comes back.
 */

import type { GroupOrder } from "../wire/mesh";
import { Ending } from "./ending";
import type { Control, Effect, Event } from "./events";
import type { FrameOf } from "./frames";
import { Leader } from "./leader";
import { compareBallots } from "./plan";
import { Reports } from "./reports";
import { Standing } from "./standing";
import { Views } from "./views";

/** Of two members each could take its own values from the sum. */
const LEAST_MASKED = 3;

/** The member at `place` of the group of `order`, which it got at `now` (seconds). Owned by its host alone. */
export class AllReduce {
  readonly #own: Standing;
  readonly #ending: Ending;
  readonly #views: Views;
  readonly #leader: Leader;
  readonly #reports: Reports;

  /** Throws a RangeError where the order contradicts itself. */
  constructor(order: GroupOrder, place: number, now: number) {
    this.#own = new Standing(order, place, leastOf(order, place), now);
    this.#ending = new Ending(this.#own);
    this.#views = new Views(this.#own, this.#ending);
    this.#leader = new Leader(this.#own, this.#ending, this.#views);
    this.#reports = new Reports(this.#own, this.#leader);
  }

  // What the host calls.

  /** The group ended for this member, with a result or without. */
  get over(): boolean {
    return this.#ending.over;
  }

  /** What follows from this. An event that makes no sense changes nothing. */
  happened(event: Event, now: number): readonly Effect[] {
    this.#own.now = Math.max(now, this.#own.now);
    this.#take(event);
    if (!this.over) this.#goOn();
    const effects = this.#own.out;
    this.#own.out = [];
    return effects;
  }

  /** When `time_passed` is due next, unless something happens before. */
  timer(): number | null {
    if (this.over) return null;
    const { ends, leading, links, now, order, slowAt } = this.#own;
    const { patience } = order;
    const times = [ends + 2 * patience, slowAt, slowAt + patience, ...links.deadlines()];
    if (leading !== null && !leading.planned) {
      times.push(leading.since + patience, leading.since + 2 * patience);
    }
    const due = Math.min(...times.filter((time) => time > now));
    return due === Number.POSITIVE_INFINITY ? null : due;
  }

  // What comes.

  #take(event: Event): void {
    const { arrived, links, now, others, parts, place, prepared } = this.#own;
    if (event.type === "time_passed") return;
    if (event.type === "prepared") {
      if (!prepared && !this.over) this.#prepare(event);
      return;
    }
    if (event.type === "reduced") {
      if (arrived.reducing.delete(event.part)) arrived.keep(event, place);
      return;
    }
    if (event.type === "unfit" && event.place === place && !this.over) this.#ending.giveUp(event.reason);
    if (!others.includes(event.place)) return;
    switch (event.type) {
      case "heard":
        this.#heard(event.place, event.frame);
        return;
      case "piece_came":
        if (event.part < parts) arrived.pieceCame(event);
        return;
      case "mean_came":
        if (event.part < parts) arrived.keep(event, event.place);
        return;
      case "unfit":
        arrived.refuse(event.place, event.reason);
        return;
      case "linked":
        this.#views.linked(event.place);
        return;
      case "lost":
        links.lost(event.place, now);
        return;
      case "silent":
        links.silent(event.place, now);
    }
  }

  #prepare(event: Extract<Event, { readonly type: "prepared" }>): void {
    const { arrived, place } = this.#own;
    const reason = arrived.misfit(event);
    if (reason !== null) {
      this.#ending.giveUp(reason);
      return;
    }
    this.#own.prepared = true;
    this.#own.key = event.key;
    arrived.weights.set(place, event.weight);
    arrived.commitments.set(place, event.commitments);
  }

  #heard(place: number, frame: Control): void {
    if (frame.type === "decide") this.#ending.decided(frame);
    else if (frame.type === "give_up") this.#own.quit.add(place);
    else if (this.over) this.#ending.remind(place);
    else this.#told(place, frame);
  }

  #told(place: number, frame: Exclude<Control, FrameOf<"decide" | "give_up">>): void {
    switch (frame.type) {
      case "begin":
        this.#own.arrived.begun(place, frame);
        return;
      case "complain":
        if (frame.place < this.#own.count && frame.place !== place) {
          this.#leader.complained(place, frame.place, frame.fault);
        }
        return;
      case "holds":
        this.#leader.answered(place, frame);
        return;
      case "ask":
        this.#views.asked(place, frame);
        return;
      case "config":
        this.#views.configured(place, frame);
        return;
      case "change":
        this.#views.wanted(place, frame);
        return;
      case "give":
        this.#given(frame);
    }
  }

  /** A leader asks this member to hand on what it has. */
  #given({ view, step, part, places }: FrameOf<"give">): void {
    const { others, plan } = this.#own;
    const current = compareBallots([view, step], plan.ballot) === 0;
    if (!current || (plan.parts[part]?.length ?? 0) === 0) return;
    for (const place of places) if (others.includes(place)) this.#own.step.handed.push({ part, place });
  }

  // What follows.

  /** Says and does all that the state asks for now. */
  #goOn(): void {
    const own = this.#own;
    if (own.now >= own.ends + 2 * own.order.patience) this.#ending.giveUp("The group's time is over.");
    while (!this.over) {
      const { promised, plan, accepted } = own;
      this.#views.mindLeader();
      if (!this.over) {
        this.#exchange();
        this.#leader.lead();
      }
      const moved = compareBallots(promised, own.promised) !== 0;
      if (!moved && plan === own.plan && accepted === own.accepted) return;
    }
  }

  #exchange(): void {
    const { place, step } = this.#own;
    this.#reports.stand();
    if (!this.#own.prepared || !this.#own.plan.alive.includes(place)) return;
    this.#own.out.push(...step.work(this.#own.promised));
    this.#reports.accept();
    this.#reports.complain();
  }
}

/** How many have to go on together, at least. Throws a RangeError where the order contradicts itself. */
function leastOf(
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
