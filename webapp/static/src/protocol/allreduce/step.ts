/**
 * One step of a group at one member: pieces and means on their ways, and what is still missing. A part of the machine in
 * member.ts, which owns it and says by which plan.
 */

import { toHex } from "../../core/crypto/bytes";
import type { GroupOrder } from "../wire/mesh";
import { type Arrived, range } from "./arrived";
import type { Effect, Places } from "./events";
import type { Fault } from "./frames";
import type { LinkBook } from "./links";
import { type Answer, type Ballot, compareBallots, type Digest, NEVER, NONE, type Plan } from "./plan";

/** A mean of the plan that this member hands on. */
export interface Handed {
  readonly part: number;
  readonly place: number;
}

export class Step {
  plan: Plan;
  handed: Handed[] = [];
  readonly #count: number;
  #out: Effect[] = [];

  constructor(
    private readonly order: GroupOrder,
    private readonly place: number,
    private readonly arrived: Arrived,
    private readonly links: LinkBook,
  ) {
    this.#count = order.members.length;
    const parts = order.bounds.length - 1;
    this.plan = {
      ballot: [0, 1],
      alive: range(this.#count),
      owners: range(parts),
      parts: range(parts).map(() => NONE),
      weights: range(this.#count).map(() => 0),
      first: true,
    };
  }

  /** What is to be sent and made now. Who has `promised` another step makes no masked sum of this one any more. */
  work(promised: Ballot): readonly Effect[] {
    const behind = this.arrived.masked && compareBallots(promised, this.plan.ballot) !== 0;
    if (this.open && !behind) {
      for (const [part, made] of this.plan.parts.entries()) if (made.length === 0) this.#make(part);
    }
    for (const { part, place } of this.handed) this.#handOn(part, this.plan.parts[part] ?? null, [place]);
    const out = this.#out;
    this.#out = [];
    return out;
  }

  /** Nobody shows a piece before all who are left committed themselves to theirs, or said their keys. */
  get open(): boolean {
    return this.plan.alive.every((place) => this.#hasBegun(place));
  }

  /**
   * Has all masked pieces of a part: must hold their mean before it says what it holds. Else another sum of that part would be
   * made, and the two would tell whose piece is in only one.
   */
  get settling(): boolean {
    return this.arrived.masked && this.arrived.reducing.size > 0;
  }

  weight(place: number): number {
    return this.plan.weights[place] || (this.arrived.weights.get(place) ?? 0);
  }

  /** Means that are here, where nothing was accepted: those that this step wants, or else any. */
  get answer(): Answer {
    const parts = [...this.arrived.means].map(
      (means, part) => this.#mean(part) ?? [...means.values()].at(-1)?.digest ?? NONE,
    );
    return { held: NEVER, parts, weights: range(this.#count).map((place) => this.weight(place)) };
  }

  /** All that this step wants, if it is here. */
  get acceptable(): Answer | null {
    const { ballot, alive, weights: told } = this.plan;
    const parts = this.plan.parts.map((_, part) => this.#mean(part) ?? NONE);
    const made = this.plan.parts.every(({ length }) => length > 0);
    if (parts.some(({ length }) => length === 0) || !(made || this.open)) return null;
    const weights = made
      ? told
      : told.map((weight, at) => weight || (alive.includes(at) ? this.weight(at) : 0));
    return { held: ballot, parts, weights };
  }

  /** What this step lacks because of that member, `late` seconds after it has begun to be slow. */
  fault(place: number, gone: boolean, late: number): Fault | null {
    if (gone && (this.#lacksPiece(place) || this.#lacksMean(place))) {
      // Nobody can mask for a member whose key it does not have, and nobody else can help.
      return this.arrived.masked && !this.#hasBegun(place) ? "unfit" : "gone";
    }
    if (late >= 0 && this.#lacksPiece(place)) return "slow";
    // The owner of a part may be waiting for others itself, and complains of them first.
    return late >= this.order.patience && this.#lacksMean(place) ? "slow" : null;
  }

  get isRing(): boolean {
    return this.plan.first && this.order.exchange === "ring";
  }

  #hasBegun(place: number): boolean {
    return this.arrived.masked ? this.arrived.weights.has(place) : this.weight(place) > 0;
  }

  /** Whom this step's pieces are masked for. */
  get #set(): Places {
    return this.arrived.masked ? this.plan.alive : [];
  }

  get #isFull(): boolean {
    return this.plan.first && this.order.exchange === "full";
  }

  /** The digest of the mean of `part` that this step wants, if it is here. */
  #mean(part: number): Digest | null {
    const wanted = this.plan.parts[part] ?? NONE;
    if (wanted.length > 0) return this.arrived.contributors(part, wanted) === null ? null : wanted;
    return this.arrived.sources[part]?.get(this.#sourceOf(part)) ?? null;
  }

  /** Who the mean of a part that is not made yet comes from. */
  #sourceOf(part: number): number {
    const owner = this.plan.owners[part] as number;
    if (this.#isFull || owner === this.place) return this.place;
    if (!this.isRing) return owner;
    const chain = this.arrived.chain(part);
    return chain.at(chain.indexOf(this.place) - 1) as number;
  }

  /** A part that nobody has a mean of: pieces to its owner, the mean from there. */
  #make(part: number): void {
    if (this.isRing) {
      this.#passOn(part);
      return;
    }
    const { owners, alive } = this.plan;
    const owner = owners[part] as number;
    const others = alive.filter((place) => place !== this.place);
    const full = this.#isFull;
    if (full || owner !== this.place) this.#sendPiece(part, full ? others : [owner]);
    if (!full && owner !== this.place) return;
    const set = this.#set;
    if (others.every((place) => this.arrived.hasPiece(part, place, set))) this.#reduce(part, alive, null);
    if (!full) this.#handOn(part, this.#mean(part), others);
  }

  #passOn(part: number): void {
    const { alive } = this.plan;
    const chain = this.arrived.chain(part);
    const at = chain.indexOf(this.place);
    const came = this.arrived.sums.get(part);
    const next = chain[(at + 1) % this.#count] as number;
    if (part === this.place) {
      if (came) this.#reduce(part, alive, came.place);
    } else if ((at === 0 || came) && this.links.untold(["sum", part], [next]).length > 0) {
      const total = alive.reduce((sum, place) => sum + this.weight(place), 0);
      const [source, contributors] = came ? [came.place, came.contributors] : [null, []];
      const weight = this.weight(this.place) / total;
      this.#out.push({ type: "add_piece", part, source, contributors, weight, place: next });
    }
    if (next !== part) this.#handOn(part, this.#mean(part), [next]);
  }

  #sendPiece(part: number, places: Places): void {
    const contributors = this.#set;
    const weights = contributors.map((place) => this.weight(place));
    for (const place of this.links.untold(["piece", part, ...contributors], places)) {
      this.#out.push({ type: "send_piece", part, place, contributors, weights });
    }
  }

  #handOn(part: number, digest: Digest | null, places: Places): void {
    if (digest === null || this.arrived.contributors(part, digest) === null) return;
    const fresh = this.links.untold(["mean", part, toHex(digest)], places);
    if (fresh.length > 0) this.#out.push({ type: "send_mean", part, digest, places: fresh });
  }

  #reduce(part: number, contributors: Places, source: number | null): void {
    if (this.arrived.reducing.has(part) || this.arrived.sources[part]?.has(this.place)) return;
    this.arrived.reducing.set(part, contributors);
    const weights = contributors.map((place) => this.weight(place));
    this.#out.push({ type: "reduce", part, contributors, weights, source });
  }

  #lacksPiece(place: number): boolean {
    if (!this.open) return !this.#hasBegun(place);
    const { parts, owners } = this.plan;
    const { sources, reducing, sums } = this.arrived;
    return parts.some((made, part) => {
      if (made.length > 0 || !(this.#isFull || owners[part] === this.place)) return false;
      if (sources[part]?.has(this.place) || reducing.has(part)) return false;
      return this.isRing ? !sums.has(part) : !this.arrived.hasPiece(part, place, this.#set);
    });
  }

  /** Who gives the means that are made already only the leader knows: they may come from anybody. */
  #lacksMean(place: number): boolean {
    const { parts, owners } = this.plan;
    return parts.some(
      (made, part) => this.#mean(part) === null && (made.length > 0 || owners[part] === place || this.isRing),
    );
  }
}
