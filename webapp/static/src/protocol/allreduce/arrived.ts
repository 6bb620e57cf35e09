/**
 * What came to a member of a group: weights and commitments, digests of pieces and means, and of whom nothing counts any more.
 * A part of the machine in member.ts, which owns it.
 */

import { sameBytes, toHex } from "../../core/crypto/bytes";
import { usable } from "../../core/crypto/keys";
import type { GroupOrder } from "../wire/mesh";
import type { Event, Places } from "./events";
import type { Digest } from "./plan";

type EventOf<T extends Event["type"]> = Extract<Event, { readonly type: T }>;

/** What a member begins with: `prepared` of the own one, `begin` of others. */
type Beginning = Pick<EventOf<"prepared">, "weight" | "commitments" | "key">;

/** The means of a part that are here, by digest in the order in which they came, with their contributors. */
type Means = Map<string, { readonly digest: Digest; readonly contributors: Places }>;

export class Arrived {
  readonly weights = new Map<number, number>();
  readonly commitments = new Map<number, readonly Digest[]>();
  /** By part: other members' own pieces, by who sent them and, where they are masked, for whom. */
  readonly #pieces: readonly Map<string, { readonly place: number; readonly digest: Digest }>[];
  /** In a ring, by part: the sum that came to be passed on. */
  readonly sums = new Map<number, EventOf<"piece_came">>();
  readonly means: readonly Means[];
  /** By part: who sent, or made, which mean last. */
  readonly sources: readonly Map<number, Digest>[];
  /** Parts of which the host makes the mean, with their contributors. */
  readonly reducing = new Map<number, Places>();
  /** Why nothing of a member counts. */
  readonly unfit = new Map<number, string>();

  constructor(
    private readonly order: GroupOrder,
    private readonly place: number,
  ) {
    const parts = range(order.bounds.length - 1);
    this.#pieces = parts.map(() => new Map());
    this.means = parts.map(() => new Map());
    this.sources = parts.map(() => new Map());
  }

  /** In a ring, the way of a part's sum; its owner is the last. The mean goes on, round again. */
  chain(part: number): number[] {
    const count = this.order.members.length;
    return range(count).map((hop) => (part + 1 + hop) % count);
  }

  get masked(): boolean {
    return this.order.precision === "masked";
  }

  /** What is wrong with what a member begins with; null where nothing is. */
  misfit({ weight, commitments, key }: Beginning): string | null {
    const { most_weight, exchange } = this.order;
    if (!(weight > 0 && weight <= most_weight && weight < Number.POSITIVE_INFINITY)) {
      return "Its weight is not over 0, or it is over what the group allows.";
    }
    const wanted = exchange === "ring" || this.masked ? 0 : this.#pieces.length;
    if (commitments.length !== wanted) {
      return `It committed itself to ${commitments.length} pieces instead of ${wanted}.`;
    }
    const fits = this.masked ? usable(key) : key.length === 0;
    return fits ? null : "Its key is not what this group needs.";
  }

  /** Another member begins: the first time counts. */
  begun(place: number, beginning: Beginning): void {
    if (this.weights.has(place)) return;
    const reason = this.misfit(beginning);
    if (reason !== null) {
      this.refuse(place, reason);
      return;
    }
    this.weights.set(place, beginning.weight);
    this.commitments.set(place, beginning.commitments);
    for (const part of this.#pieces.keys()) this.#check(place, part);
  }

  /** Nothing of that member counts any more. */
  refuse(place: number, reason: string): void {
    if (!this.unfit.has(place)) this.unfit.set(place, reason);
    for (const pieces of this.#pieces) {
      for (const [name, piece] of pieces) if (piece.place === place) pieces.delete(name);
    }
    // A masked sum in hand is made: with another one it would tell whose piece is in only one of them.
    if (this.masked) return;
    for (const [part, contributors] of this.reducing) {
      if (contributors.includes(place)) this.reducing.delete(part);
    }
  }

  pieceCame(piece: EventOf<"piece_came">): void {
    const { place, part, contributors, digest } = piece;
    if (contributors.length === 0 || this.masked) {
      if (this.unfit.has(place)) return;
      this.#pieces[part]?.set(nameOf(place, contributors), { place, digest });
      this.#check(place, part);
      return;
    }
    const chain = this.chain(part);
    const at = chain.indexOf(this.place);
    const before = chain.slice(0, at);
    const wanted = contributors.length === at && contributors.every((one, i) => one === before[i]);
    if (wanted && chain.at(at - 1) === place) this.sums.set(part, piece);
  }

  /** Whether that member's piece of `part` is here; `set` are those whom it is masked for, or nobody. */
  hasPiece(part: number, place: number, set: Places): boolean {
    return this.#pieces[part]?.has(nameOf(place, set)) ?? false;
  }

  /** A mean is here, of the member at `source`. */
  keep({ part, contributors, digest }: EventOf<"mean_came" | "reduced">, source: number): void {
    this.sources[part]?.set(source, digest);
    const means = this.means[part];
    if (!means?.has(toHex(digest))) means?.set(toHex(digest), { digest, contributors });
  }

  /** Who is in the mean with this digest; null where that is not here. */
  contributors(part: number, digest: Digest): Places | null {
    return this.means[part]?.get(toHex(digest))?.contributors ?? null;
  }

  /** A piece must be what its sender committed itself to, be it here before the commitment or after. */
  #check(place: number, part: number): void {
    const digest = this.#pieces[part]?.get(nameOf(place, []))?.digest;
    const promised = this.commitments.get(place)?.[part];
    if (digest !== undefined && promised !== undefined && !sameBytes(promised, digest)) {
      this.refuse(place, "Its piece does not fit its commitment.");
    }
  }
}

function nameOf(place: number, set: Places): string {
  return `${place}:${set.join()}`;
}

export function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
