/**
 * What one member of a group sent to the others on its links, and what it received from them. Places number the
 * members; times are seconds of the host's clock. The twin is backend/protocols/mesh/allreduce/transfers.py.
 */

import { sameBytes, toHex } from "../../core/crypto/bytes";
import type { GroupOrder } from "../wire/mesh";
import type { Control, Effect, EventOf, FrameOf, Places } from "./group-events";
import { beginError, type Digest, range } from "./plan";

/** A message's type, and what distinguishes it from others of that type. */
export type MessageKey = readonly [type: string, ...rest: readonly (string | number)[]];
const TRANSFERS: readonly string[] = ["piece", "sum", "mean"];

/**
 * Links to the `others`, what was sent on each, and the effects that the host performs next. What was sent on a link
 * that failed counts as unsent. A member is lost `grace` seconds after its link failed, `patience` seconds after the
 * beginning if it never had one, and immediately when it is silent or gives up.
 */
export class MemberLinks {
  effects: Effect[] = [];
  readonly #sent: ReadonlyMap<number, Map<string, MessageKey>>;
  readonly #linked = new Set<number>();
  readonly #lostAt: Map<number, number>;
  readonly #ended = new Set<number>();

  constructor(
    readonly others: Places,
    private readonly grace: number,
    patience: number,
    public now: number,
  ) {
    this.#sent = new Map(others.map((place) => [place, new Map()]));
    this.#lostAt = new Map(others.map((place) => [place, now + patience]));
  }

  /** Records that a link is up, or that its member sends again after silence. */
  connect(place: number): void {
    this.#linked.add(place);
    this.#lostAt.delete(place);
  }

  /** Records that the link is down. */
  disconnect(place: number): void {
    this.#linked.delete(place);
    this.#sent.get(place)?.clear();
    if (!this.#lostAt.has(place)) this.#lostAt.set(place, this.now + this.grace);
  }

  /** Records that no byte came from that member for too long. */
  markSilent(place: number): void {
    this.#lostAt.set(place, Math.min(this.now, this.#lostAt.get(place) ?? this.now));
  }

  /** Records that the member gave up, and receives nothing any more. */
  markEnded(place: number): void {
    this.#ended.add(place);
  }

  /** Whether nothing can be expected from that member. */
  isLost(place: number): boolean {
    return this.#ended.has(place) || this.now >= (this.#lostAt.get(place) ?? Number.POSITIVE_INFINITY);
  }

  /** The number of members that can communicate with this one, itself included. */
  get reachable(): number {
    return 1 + this.others.filter((place) => !this.isLost(place)).length;
  }

  /** Returns the linked members of `places` that were not sent this message yet; marks it as sent to them. */
  takeUnsent(key: MessageKey, places: Places): number[] {
    const name = key.join();
    const unsent = places.filter((place) => this.#linked.has(place) && !this.#sent.get(place)?.has(name));
    for (const place of unsent) this.#sent.get(place)?.set(name, key);
    return unsent;
  }

  /** Sends a frame to those of `places` that did not get it on their current link. */
  send(key: MessageKey, places: Places, frame: Control): void {
    const unsent = this.takeUnsent(key, places);
    if (unsent.length > 0) this.effects.push({ type: "send", places: unsent, frame });
  }

  /** Drops the bytes that wait to be sent to that member. */
  cancelTransfers(place: number): void {
    const sent = this.#sent.get(place);
    for (const [name, [type]] of sent ?? []) {
      if (TRANSFERS.includes(type)) sent?.delete(name);
    }
    this.effects.push({ type: "without", place });
  }

  /** Returns when members without a link are lost. */
  deadlines(): number[] {
    return [...this.#lostAt.values()];
  }
}

/** A part's means, by digest in order of arrival, with their contributors. */
type Means = Map<string, { readonly digest: Digest; readonly contributors: Places }>;

/** What the member at `place` received: weights, commitments, digests of pieces and of means. */
export class ReceivedParts {
  readonly weights = new Map<number, number>();
  readonly commitments = new Map<number, readonly Digest[]>();
  /** This member's own key, if the group masks. */
  key: Uint8Array = new Uint8Array();
  /** By part: the pieces, by sender and by the members that a masked piece is for. */
  readonly #pieces: readonly Map<string, { readonly place: number; readonly digest: Digest }>[];
  /** By part: sums of a ring, to be sent to the next member. */
  readonly sums = new Map<number, EventOf<"piece_came">>();
  readonly means: readonly Means[];
  /** By part: the last digest by sender, or by the member that computed it. */
  readonly sources: readonly Map<number, Digest>[];
  /** By part: the contributors of means that the host is computing. */
  readonly reducing = new Map<number, Places>();
  /** Members of which nothing counts, and why. */
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

  get masked(): boolean {
    return this.order.precision === "masked";
  }

  /** Returns the places that a part's sum visits in a ring, its owner last; the mean takes the same route. */
  ring(part: number): number[] {
    const count = this.order.members.length;
    return range(count).map((hop) => (part + 1 + hop) % count);
  }

  /** Takes this member's own weight, commitments and key; returns an error, or null. */
  prepare({ weight, commitments, key }: EventOf<"prepared">): string | null {
    const error = beginError(this.order, weight, commitments, key);
    if (error !== null) return error;
    this.weights.set(this.place, weight);
    this.commitments.set(this.place, commitments);
    this.key = key;
    return null;
  }

  /** Takes another member's `begin`; only its first one counts. */
  addBegin(place: number, { weight, commitments, key }: FrameOf<"begin">): void {
    if (this.weights.has(place)) return;
    const error = beginError(this.order, weight, commitments, key);
    if (error !== null) {
      this.markUnfit(place, error);
      return;
    }
    this.weights.set(place, weight);
    this.commitments.set(place, commitments);
    for (const part of this.#pieces.keys()) this.#checkCommitment(place, part);
  }

  /** Discards what that member sent, and ignores it from now on. */
  markUnfit(place: number, reason: string): void {
    if (!this.unfit.has(place)) this.unfit.set(place, reason);
    for (const pieces of this.#pieces) {
      for (const [name, piece] of pieces) if (piece.place === place) pieces.delete(name);
    }
    // A masked sum that was begun is finished: its difference to another sum would be one member's piece.
    if (this.masked) return;
    for (const [part, contributors] of this.reducing) {
      if (contributors.includes(place)) this.reducing.delete(part);
    }
  }

  /** Takes a complete piece, or in a ring a complete sum. */
  addPiece(piece: EventOf<"piece_came">): void {
    const { place, part, contributors, digest } = piece;
    if (contributors.length === 0 || this.masked) {
      if (this.unfit.has(place)) return;
      this.#pieces[part]?.set(pieceName(place, contributors), { place, digest });
      this.#checkCommitment(place, part);
      return;
    }
    const ring = this.ring(part);
    const at = ring.indexOf(this.place);
    const predecessors = ring.slice(0, at);
    const expected = contributors.length === at && contributors.every((one, i) => one === predecessors[i]);
    if (expected && ring.at(at - 1) === place) this.sums.set(part, piece);
  }

  /** Whether that member's piece of `part` has arrived, masked for `members` (empty: not masked). */
  hasPiece(part: number, place: number, members: Places): boolean {
    return this.#pieces[part]?.has(pieceName(place, members)) ?? false;
  }

  /** Takes a complete mean that `source` sent or computed. */
  addMean({ part, contributors, digest }: EventOf<"mean_came" | "reduced">, source: number): void {
    this.sources[part]?.set(source, digest);
    const means = this.means[part];
    if (!means?.has(toHex(digest))) means?.set(toHex(digest), { digest, contributors });
  }

  /** Returns the contributors of the mean with this digest; null if it has not arrived. */
  contributors(part: number, digest: Digest): Places | null {
    return this.means[part]?.get(toHex(digest))?.contributors ?? null;
  }

  /** Refuses a piece without the digest that its sender committed to, whichever of the two arrives first. */
  #checkCommitment(place: number, part: number): void {
    const digest = this.#pieces[part]?.get(pieceName(place, []))?.digest;
    const commitment = this.commitments.get(place)?.[part];
    if (digest !== undefined && commitment !== undefined && !sameBytes(commitment, digest)) {
      this.markUnfit(place, "Its piece does not fit its commitment.");
    }
  }
}

function pieceName(place: number, members: Places): string {
  return `${place}:${members.join()}`;
}
