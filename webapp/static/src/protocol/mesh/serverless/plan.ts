/**
 * What a round without the server is, made of the last that the server gave. Pure functions; `backend/protocols/mesh/serverless/plan.py`
 * is their twin.
 */

import { same } from "../../../core/data/equality";
import type { Evaluate, Train } from "../../rounds/participant-events";
import type { Certificate, GroupOrder } from "../../wire/mesh";

/** Groups of stewards are numbered from here on, so that no server numbers one so. */
const STEWARDS_GROUPS = 2 ** 40;
/**
 * Nobody follows a round whose number is so far beyond all that it heard of: one peer that lies about its rounds could use up
 * all numbers that there are, for the server too, which goes on from what peers made.
 */
export const MOST_AHEAD = 2 ** 20;
/** Of a seed, from round to round: the golden ratio's fraction, in 32 bits (Knuth, TAOCP 3, 6.4). */
const STRIDE = 0x9e3779b1n;
const SEEDS = 1n << 31n;

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

/** What measures the weights that `plan` begins with, on the data of the `last` one, within `seconds`. */
export function nextEvaluation(
  last: Evaluate,
  { round, version, weights }: Train,
  seconds: number,
): Evaluate {
  return { ...last, round, version, weights, seconds };
}

/** More than half of the survivors, and two at least. */
function mostOf({ survivors }: Certificate): number {
  return Math.max(2, Math.floor(survivors.length / 2) + 1);
}

/** So many of `members` must survive: more than half of them, and of those before; 3 where masks are. */
function leastOf(certificate: Certificate, last: GroupOrder, members: number): number {
  return Math.max(mostOf(certificate), Math.floor(members / 2) + 1, last.precision === "masked" ? 3 : 2);
}

/**
 * Why a steward's order is not followed; null if it is what follows from the `last` one. Whether its bounds fit is looked at
 * by who averages.
 */
export function objection(
  order: GroupOrder,
  last: GroupOrder,
  certificate: Certificate,
  own: string,
): string | null {
  const members = new Set(order.members);
  if (order.group < STEWARDS_GROUPS || members.size !== order.members.length || !members.has(own)) {
    return "It is not a group of this peer's.";
  }
  if (!order.members.every((client) => certificate.survivors.includes(client))) {
    return "It has members that are not among the last survivors.";
  }
  if (order.least !== leastOf(certificate, last, members.size)) {
    return "Too few of the last survivors would decide.";
  }
  const { round, group, bounds, least } = order;
  const like = { ...last, round, group, members: order.members, bounds, least, subject: "changes" };
  return same(like, order) ? null : "It is not as groups of this task are.";
}
