/**
 * One step of a group at one member: the plan, what the member accepted, sends and computes, and what is missing.
 * Places number the members; times are seconds of the host's clock. The twin is
 * backend/protocols/mesh/allreduce/step.py.
 */

import { toHex } from "../../core/crypto/bytes";
import type { GroupOrder } from "../wire/mesh";
import type { Fault, FrameOf, Places } from "./group-events";
import {
  type Ballot,
  compareBallots,
  type Digest,
  firstPlan,
  type GroupPlan,
  type MemberAnswer,
  NEVER,
  NONE,
  range,
} from "./plan";
import { MemberLinks, ReceivedParts } from "./transfers";

/** The step that the member at `place` follows. */
export class GroupStep {
  readonly count: number;
  readonly parts: number;
  /** The first fields of every frame of the group. */
  readonly header: { readonly round: number; readonly group: number };
  readonly links: MemberLinks;
  readonly received: ReceivedParts;
  /** The time at which the group ends. */
  readonly ends: number;
  /** The time from which members that keep others waiting count as slow. */
  slowAt: number;
  plan: GroupPlan;
  /** The means that it accepted last. */
  accepted: MemberAnswer | null = null;
  /** Means that it has to send for the leader. */
  handovers: { readonly part: number; readonly place: number }[] = [];

  constructor(
    readonly order: GroupOrder,
    readonly place: number,
    now: number,
  ) {
    const { members, bounds, patience, round, group, seconds } = order;
    this.count = members.length;
    this.parts = bounds.length - 1;
    this.header = { round, group };
    const others = range(this.count).filter((other) => other !== place);
    this.links = new MemberLinks(others, patience / 2, patience, now);
    this.received = new ReceivedParts(order, place);
    this.ends = now + seconds;
    this.slowAt = now + seconds / 2;
    this.plan = firstPlan(order);
  }

  // The plan.

  /** Follows this plan, and cancels transfers to the members that it excludes. */
  adopt(plan: GroupPlan): void {
    const excluded = this.plan.alive.filter((place) => place !== this.place && !plan.alive.includes(place));
    const { now } = this.links;
    this.plan = plan;
    this.handovers = [];
    this.slowAt = now + Math.max((this.ends - now) / 2, this.order.patience);
    for (const place of excluded) this.links.cancelTransfers(place);
  }

  /** Whether a frame names all parts and all members. */
  isComplete({ parts, weights }: FrameOf<"holds" | "change" | "config">): boolean {
    return parts.length === this.parts && weights.length === this.count;
  }

  /** Whether this member's own vector is encoded. */
  get isPrepared(): boolean {
    return this.received.weights.has(this.place);
  }

  /** Whether members that are not ready by now keep others waiting. */
  get isLate(): boolean {
    return this.links.now >= this.slowAt;
  }

  /** Pieces are sent only after all remaining members have sent their commitments, or keys. */
  get isOpen(): boolean {
    return this.plan.alive.every((place) => this.#hasBegun(place));
  }

  /**
   * The host is adding up masked pieces: their mean must be computed before this member answers. Otherwise another
   * sum of that part could be computed, and the difference of the two would be one member's piece.
   */
  get isSettling(): boolean {
    return this.received.masked && this.received.reducing.size > 0;
  }

  /** Whether sums travel from member to member. */
  get isRing(): boolean {
    return this.plan.first && this.order.exchange === "ring";
  }

  /** Returns that member's weight in the mean; 0 while it is unknown. */
  weight(place: number): number {
    return this.plan.weights[place] || (this.received.weights.get(place) ?? 0);
  }

  // The means of this member.

  /** Returns what it accepted last, or else the means that it has: those of this step, or any. */
  get answer(): MemberAnswer {
    if (this.accepted !== null) return this.accepted;
    const parts = this.received.means.map(
      (means, part) => this.#mean(part) ?? [...means.values()].at(-1)?.digest ?? NONE,
    );
    return { ballot: NEVER, parts, weights: range(this.count).map((place) => this.weight(place)) };
  }

  /** Whether it accepted the means of this step. */
  get hasAccepted(): boolean {
    return this.accepted !== null && compareBallots(this.accepted.ballot, this.plan.ballot) === 0;
  }

  /** Accepts the means of this step; returns null unless all have arrived. */
  accept(): MemberAnswer | null {
    if (this.hasAccepted) return this.accepted;
    const { ballot, alive, weights: planned } = this.plan;
    const isMade = this.plan.parts.every(({ length }) => length > 0);
    const parts = this.plan.parts.map((_, part) => this.#mean(part) ?? NONE);
    if (parts.some(({ length }) => length === 0) || !(isMade || this.isOpen)) return null;
    const weights = isMade
      ? planned
      : planned.map((weight, place) => weight || (alive.includes(place) ? this.weight(place) : 0));
    this.accepted = { ballot, parts, weights };
    return this.accepted;
  }

  #hasBegun(place: number): boolean {
    return this.received.masked ? this.received.weights.has(place) : this.weight(place) > 0;
  }

  get #maskedFor(): Places {
    return this.received.masked ? this.plan.alive : [];
  }

  get #isFull(): boolean {
    return this.plan.first && this.order.exchange === "full";
  }

  /** Returns the digest of this step's mean of `part`; null if it has not arrived. */
  #mean(part: number): Digest | null {
    const planned = this.plan.parts[part] ?? NONE;
    if (planned.length > 0) return this.received.contributors(part, planned) === null ? null : planned;
    return this.received.sources[part]?.get(this.#source(part)) ?? null;
  }

  /** Returns the member that will send a mean that does not exist yet. */
  #source(part: number): number {
    const owner = this.plan.owners[part] as number;
    if (this.#isFull || owner === this.place) return this.place;
    if (!this.isRing) return owner;
    const ring = this.received.ring(part);
    return ring.at(ring.indexOf(this.place) - 1) as number;
  }

  // Sending and computing.

  /**
   * Sends, and orders the computation of, what is due now. A member that `promised` another step computes no more
   * masked sums of this one.
   */
  exchange(promised: Ballot): void {
    const isBehind = this.received.masked && compareBallots(promised, this.plan.ballot) !== 0;
    if (this.isOpen && !isBehind) {
      for (const [part, made] of this.plan.parts.entries()) if (made.length === 0) this.#exchangePart(part);
    }
    for (const { part, place } of this.handovers)
      this.#sendMean(part, this.plan.parts[part] ?? null, [place]);
  }

  /** Exchanges a part without a mean: all send their pieces to its owner, which sends the mean. */
  #exchangePart(part: number): void {
    if (this.isRing) {
      this.#passSumOn(part);
      return;
    }
    const { owners, alive } = this.plan;
    const owner = owners[part] as number;
    const others = alive.filter((place) => place !== this.place);
    const full = this.#isFull;
    if (full || owner !== this.place) this.#sendPiece(part, full ? others : [owner]);
    if (!full && owner !== this.place) return;
    const members = this.#maskedFor;
    if (others.every((place) => this.received.hasPiece(part, place, members)))
      this.#reduce(part, alive, null);
    if (!full) this.#sendMean(part, this.#mean(part), others);
  }

  #passSumOn(part: number): void {
    const { alive } = this.plan;
    const ring = this.received.ring(part);
    const at = ring.indexOf(this.place);
    const received = this.received.sums.get(part);
    const next = ring[(at + 1) % this.count] as number;
    if (part === this.place) {
      if (received) this.#reduce(part, alive, received.place);
    } else if ((at === 0 || received) && this.links.takeUnsent(["sum", part], [next]).length > 0) {
      const total = alive.reduce((sum, place) => sum + this.weight(place), 0);
      const [source, contributors] = received ? [received.place, received.contributors] : [null, []];
      const weight = this.weight(this.place) / total;
      this.links.effects.push({ type: "add_piece", part, source, contributors, weight, place: next });
    }
    if (next !== part) this.#sendMean(part, this.#mean(part), [next]);
  }

  #sendPiece(part: number, places: Places): void {
    const contributors = this.#maskedFor;
    const weights = contributors.map((place) => this.weight(place));
    for (const place of this.links.takeUnsent(["piece", part, ...contributors], places)) {
      this.links.effects.push({ type: "send_piece", part, place, contributors, weights });
    }
  }

  #sendMean(part: number, digest: Digest | null, places: Places): void {
    if (digest === null || this.received.contributors(part, digest) === null) return;
    const unsent = this.links.takeUnsent(["mean", part, toHex(digest)], places);
    if (unsent.length > 0) this.links.effects.push({ type: "send_mean", part, digest, places: unsent });
  }

  #reduce(part: number, contributors: Places, source: number | null): void {
    if (this.received.reducing.has(part) || this.received.sources[part]?.has(this.place)) return;
    this.received.reducing.set(part, contributors);
    const weights = contributors.map((place) => this.weight(place));
    this.links.effects.push({ type: "reduce", part, contributors, weights, source });
  }

  // Missing pieces and means.

  /** Returns the fault to complain of about that member; null if this step does not wait for it. */
  fault(place: number): Fault | null {
    const late = this.links.now - this.slowAt;
    if (this.links.isLost(place) && (this.#missesPiece(place) || this.#missesMean(place))) {
      // No member can mask for a member whose key it does not have, and no other can help.
      return this.received.masked && !this.#hasBegun(place) ? "unfit" : "gone";
    }
    if (late >= 0 && this.#missesPiece(place)) return "slow";
    // The owner of a part may be waiting for others itself, and complains of them first.
    return late >= this.order.patience && this.#missesMean(place) ? "slow" : null;
  }

  #missesPiece(place: number): boolean {
    if (!this.isOpen) return !this.#hasBegun(place);
    return range(this.parts).some((part) => this.#needsPieces(part) && this.#lacks(place, part));
  }

  /** Whether this member has to compute the mean of `part`, and has not begun. */
  #needsPieces(part: number): boolean {
    const { parts, owners } = this.plan;
    const made = (parts[part] as Digest).length > 0 || this.received.sources[part]?.has(this.place);
    const reduces = owners[part] === this.place || this.#isFull;
    return reduces && !made && !this.received.reducing.has(part);
  }

  #lacks(place: number, part: number): boolean {
    if (this.isRing) return !this.received.sums.has(part);
    return !this.received.hasPiece(part, place, this.#maskedFor);
  }

  /** Only the leader knows the senders of existing means: any member may be one. */
  #missesMean(place: number): boolean {
    const { parts, owners } = this.plan;
    return parts.some(
      (made, part) => this.#mean(part) === null && (made.length > 0 || owners[part] === place || this.isRing),
    );
  }
}
