/**
 * The last certified round of a peer, and the next one that its survivors make of it without the server. `LastRound` keeps the
 * last plan, group and evaluation; `KnownSurvivors` the last certificate and links. The functions are pure. The twin is
 * backend/protocols/mesh/serverless/last_round.py.
 */

import { same } from "../../../core/data/equality";
import type { Evaluate } from "../../client/evaluation";
import type { Train } from "../../rounds/participant-events";
import type { Certificate, GroupOrder, ServerToPeer } from "../../wire/mesh";

/** Groups that elected leaders make are numbered from here on; no server numbers that many. */
const FIRST_SERVERLESS_GROUP = 2 ** 40;
/**
 * A peer follows no round that is farther ahead of all that it heard of: one that lies about its rounds could use up all numbers,
 * for the server too, which continues from what peers made.
 */
const MAX_ROUNDS_AHEAD = 2 ** 20;
/** The share of a round's time for a peer that measures before it trains. */
const MEASURING_SHARE = 0.25;
/** From one round's seed to the next: the golden ratio's fraction, in 32 bits (Knuth, TAOCP 3, 6.4). */
const STRIDE = 0x9e3779b1n;
const SEEDS = 1n << 31n;

/** The last plan, group and evaluation of a peer, from the server or from peers. Owned by its machine; times are in seconds. */
export class LastRound {
  #plan: Train | null = null;
  #order: GroupOrder | null = null;
  #evaluation: Evaluate | null = null;
  #number = 0;

  get plan(): Train | null {
    return this.#plan;
  }

  get order(): GroupOrder | null {
    return this.#order;
  }

  get evaluation(): Evaluate | null {
    return this.#evaluation;
  }

  /** The newest round that the peer heard of. */
  get number(): number {
    return this.#number;
  }

  /** How long peers wait for each other; 0 before the first group. */
  get patience(): number {
    return this.#order?.patience ?? 0;
  }

  /** The longest time from `set_out` to the group; a peer that measures first has as long to train. */
  get seconds(): number {
    return (1 + MEASURING_SHARE) * (this.#order?.seconds ?? 0);
  }

  /** Keeps what the server sent, if the next round is made of it. */
  takeServerFrame(frame: ServerToPeer): void {
    if (frame.type === "evaluate") this.#evaluation = frame;
    if (frame.type !== "train" && frame.type !== "state") return;
    this.#number = Math.max(this.#number, frame.round);
    if (frame.type === "train") this.#plan = frame;
    // The owner wants no rounds, so peers make none either.
    else if (frame.phase === "paused" || frame.phase === "finished") this.#plan = null;
  }

  /** This peer's group `order` has a result. */
  takeGroup(order: GroupOrder): void {
    this.#order = order;
    this.#number = Math.max(this.#number, order.round);
  }

  /** Whether a round of this number is new, and not too far ahead. */
  canBegin(number: number): boolean {
    return number > this.#number && number <= this.#number + MAX_ROUNDS_AHEAD;
  }

  /** Round `number` begins from `weights`: makes its plan of the last one, if there was one. */
  begin(number: number, weights: string): void {
    this.#number = number;
    if (this.#plan && this.#order) {
      this.#plan = nextPlan(this.#plan, number, weights, this.#order.seconds);
    }
  }

  /** Makes the evaluation of the plan's weights; null if the server never asked for one. */
  beginEvaluation(): Evaluate | null {
    if (this.#evaluation && this.#plan && this.#order) {
      this.#evaluation = nextEvaluation(this.#evaluation, this.#plan, MEASURING_SHARE * this.#order.seconds);
    }
    return this.#evaluation;
  }
}

/**
 * The survivors of the last certified round, and those that this peer has links to. Only they make rounds without the server.
 * Owned by the peer's machine.
 */
export class KnownSurvivors {
  /** Proves the weights that they made; null before the first. */
  certificate: Certificate | null = null;
  readonly #linked = new Set<string>();

  /** `own` is the id of the peer that keeps this. */
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

  /** The other survivors to which there are links. */
  get linked(): readonly string[] {
    const survivors = this.certificate?.survivors ?? [];
    return survivors.filter((client) => client !== this.own && this.#linked.has(client));
  }

  /** There is a link to `client`, a survivor or not. */
  addLink(client: string): void {
    this.#linked.add(client);
  }

  /** There is no link to `client` any more. */
  removeLink(client: string): void {
    this.#linked.delete(client);
  }
}

/** The plan of round `number` from `weights`, on the data of the `last` one, within `seconds`. */
export function nextPlan(last: Train, number: number, weights: string, seconds: number): Train {
  const again = last.weights === weights;
  const version = again ? last.version : last.version + 1;
  // The schedule's position grows by as much in each version.
  const grows = !again && last.version > 0;
  const past = grows ? Math.floor((last.past_steps * version) / last.version) : last.past_steps;
  // Beyond 2^53 numbers are not exact.
  const seed = Number((BigInt(last.seed) + STRIDE * BigInt(number - last.round)) % SEEDS);
  return { ...last, round: number, version, weights, past_steps: past, seed, seconds };
}

/** The evaluation of the weights that `plan` begins with, on the data of the `last` one. */
function nextEvaluation(last: Evaluate, { round, version, weights }: Train, seconds: number): Evaluate {
  return { ...last, round, version, weights, seconds };
}

/** More than half of the survivors, and two at least. */
function majority({ survivors }: Certificate): number {
  return Math.max(2, Math.floor(survivors.length / 2) + 1);
}

/** The fewest of `members` that may finish: a majority of them and of those before; 3 with masks. */
function leastSurvivors(certificate: Certificate, last: GroupOrder, members: number): number {
  return Math.max(majority(certificate), Math.floor(members / 2) + 1, last.precision === "masked" ? 3 : 2);
}

/** Why a leader's order does not follow from the `last` one; null if it does. The all-reduce machine checks its bounds. */
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
  const like = { ...last, round, group, members: order.members, bounds, least, subject: "changes" };
  return same(like, order) ? null : "It is not as groups of this task are.";
}
