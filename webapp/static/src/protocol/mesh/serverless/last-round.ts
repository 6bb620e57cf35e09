/**
 * The last certified round of a peer, and the next round that its survivors derive from it without the server.
 * `LastRound` has the last plan, group and evaluation; `KnownSurvivors` the last certificate and links. The functions
 * are pure. The twin is backend/protocols/mesh/serverless/last_round.py.
 */

import { same } from "../../../core/data/equality";
import type { Evaluate } from "../../client/evaluation";
import type { Train } from "../../rounds/participant-events";
import type { Certificate, GroupOrder, ServerToPeer } from "../../wire/mesh";

/** The first number of groups that elected leaders make; servers never reach it. */
export const FIRST_SERVERLESS_GROUP = 2 ** 40;
/**
 * A peer follows no round that is farther ahead of the last one that the server or a certificate named: a lying peer
 * could use up all numbers, and the server accepts no certificate far ahead.
 */
const MAX_ROUNDS_AHEAD = 512;
/** The share of a round's time for a peer that evaluates before it trains. */
const MEASURING_SHARE = 0.25;
/** The difference of consecutive rounds' seeds: the golden ratio's fraction, in 32 bits (Knuth, TAOCP 3, 6.4). */
const STRIDE = 0x9e3779b1n;
const SEEDS = 1n << 31n;

/**
 * The last plan, group and evaluation of a peer, from the server or from peers. Owned by its machine; times are in
 * seconds.
 */
export class LastRound {
  #plan: Train | null = null;
  #order: GroupOrder | null = null;
  #evaluation: Evaluate | null = null;
  #number = 0;
  /** The newest round that the server or a certificate named. */
  #certain = 0;

  get plan(): Train | null {
    return this.#plan;
  }

  get order(): GroupOrder | null {
    return this.#order;
  }

  get evaluation(): Evaluate | null {
    return this.#evaluation;
  }

  /** The newest round that the peer knows of. */
  get number(): number {
    return this.#number;
  }

  /** How long peers wait for each other; 0 before the first group. */
  get patience(): number {
    return this.#order?.patience ?? 0;
  }

  /** The longest time from `set_out` to the group; a peer that evaluates first still has the full time to train. */
  get seconds(): number {
    return (1 + MEASURING_SHARE) * (this.#order?.seconds ?? 0);
  }

  /** Stores a frame of the server that the next round is derived from. */
  takeServerFrame(frame: ServerToPeer): void {
    if (frame.type === "evaluate") this.#evaluation = frame;
    if (frame.type !== "train" && frame.type !== "state") return;
    this.takeCertain(frame.round);
    if (frame.type === "train") this.#plan = frame;
    // The owner wants no rounds, so peers make none either.
    else if (frame.phase === "paused" || frame.phase === "finished") this.#plan = null;
  }

  /** The server or a certificate names this round. */
  takeCertain(number: number): void {
    this.#number = Math.max(this.#number, number);
    this.#certain = Math.max(this.#certain, number);
  }

  /** Stores the order of a group that had a result for this peer. */
  takeGroup(order: GroupOrder): void {
    this.#order = order;
    this.#number = Math.max(this.#number, order.round);
  }

  /** Whether a round of this number is new, and not too far ahead. */
  canBegin(number: number): boolean {
    return number > this.#number && number <= this.#certain + MAX_ROUNDS_AHEAD;
  }

  /** Begins round `number` from `weights`, with a plan derived from the last one, if there was one. */
  begin(number: number, weights: string): void {
    this.#number = number;
    if (this.#plan && this.#order) {
      this.#plan = nextPlan(this.#plan, number, weights, this.#order.seconds);
    }
  }

  /** Derives the evaluation of the plan's weights; null if the server never asked for one. */
  beginEvaluation(): Evaluate | null {
    if (this.#evaluation && this.#plan && this.#order) {
      this.#evaluation = nextEvaluation(this.#evaluation, this.#plan, MEASURING_SHARE * this.#order.seconds);
    }
    return this.#evaluation;
  }
}

/**
 * The survivors of the last certified round, and those that this peer has links to. Only they make rounds without the
 * server. Owned by the peer's machine.
 */
export class KnownSurvivors {
  /** Certifies the weights that the survivors made; null before the first round. */
  certificate: Certificate | null = null;
  readonly #linked = new Set<string>();

  /** `own` is the id of this peer. */
  constructor(private readonly own: string) {}

  /** The round of the certified weights; 0 before the first. */
  get round(): number {
    return this.certificate?.round ?? 0;
  }

  /** Whether `client`, this peer or another one, is a survivor. */
  has(client: string): boolean {
    return this.certificate?.survivors.includes(client) ?? false;
  }

  /** Whether `client` is another survivor: frames of all other peers are ignored. */
  hasOther(client: string): boolean {
    return client !== this.own && this.has(client);
  }

  /** The other survivors that this peer has links to. */
  get linked(): readonly string[] {
    const survivors = this.certificate?.survivors ?? [];
    return survivors.filter((client) => client !== this.own && this.#linked.has(client));
  }

  /** Records a link to `client`, which may be no survivor. */
  addLink(client: string): void {
    this.#linked.add(client);
  }

  /** Records that the link to `client` is down. */
  removeLink(client: string): void {
    this.#linked.delete(client);
  }
}

/** Returns the plan of round `number` from `weights`, on the data of the `last` plan, within `seconds`. */
export function nextPlan(last: Train, number: number, weights: string, seconds: number): Train {
  const unchanged = last.weights === weights;
  const version = unchanged ? last.version : last.version + 1;
  // The schedule's position advances equally in each version.
  const grows = !unchanged && last.version > 0;
  const past = grows ? Math.floor((last.past_steps * version) / last.version) : last.past_steps;
  // Beyond 2^53 numbers are not exact.
  const seed = Number((BigInt(last.seed) + STRIDE * BigInt(number - last.round)) % SEEDS);
  return { ...last, round: number, version, weights, past_steps: past, seed, seconds };
}

/** Returns the evaluation of the weights of `plan`, on the data of the `last` evaluation. */
function nextEvaluation(last: Evaluate, { round, version, weights }: Train, seconds: number): Evaluate {
  return { ...last, round, version, weights, seconds };
}

/** Returns more than half of the survivors, and at least two. */
function majority({ survivors }: Certificate): number {
  return Math.max(2, Math.floor(survivors.length / 2) + 1);
}

/**
 * Returns the least number of `members` that may finish: a majority of them and of the survivors, and the quorum; 3
 * with masks.
 */
function leastSurvivors(certificate: Certificate, last: GroupOrder, members: number): number {
  const masked = last.precision === "masked" ? 3 : 2;
  return Math.max(majority(certificate), Math.floor(members / 2) + 1, last.quorum, masked);
}

/**
 * Returns why a leader's order does not follow from the `last` one; null if it does. The all-reduce machine checks
 * its bounds.
 */
export function orderError(
  order: GroupOrder,
  last: GroupOrder,
  certificate: Certificate,
  own: string,
): string | null {
  const members = new Set(order.members);
  if (order.group < FIRST_SERVERLESS_GROUP || members.size !== order.members.length || !members.has(own)) {
    return "It is not a group of this peer's.";
  }
  if (!order.members.every((client) => certificate.survivors.includes(client))) {
    return "It has members that are not among the last survivors.";
  }
  if (order.least !== leastSurvivors(certificate, last, members.size)) {
    return "Too few of the last survivors would decide.";
  }
  const { round, group, bounds, least } = order;
  const expected = { ...last, round, group, members: order.members, bounds, least, subject: "changes" };
  return same(expected, order) ? null : "It does not match the groups of this task.";
}
