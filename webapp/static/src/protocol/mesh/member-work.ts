/**
 * The work that a mesh peer has in hand for one round. Pure functions; the twin is
 * backend/protocols/mesh/member_work.py.
 */

import type { Train } from "../rounds/participant-events";
import type { GroupOrder } from "../wire/mesh";
import type { GroupAveraged, GroupFailed, MemberEffect, MemberEvent, PlanTrained } from "./member-events";

export interface MemberWork {
  /** Set until its round is over. */
  readonly plan: Train | null;
  /** Set from the order of the group to its result. */
  readonly group: GroupOrder | null;
  /** Reports to the server of either, until they need no repetition. */
  readonly trained: PlanTrained | null;
  readonly report: GroupAveraged | GroupFailed | null;
}

export const NO_WORK: MemberWork = { plan: null, trained: null, group: null, report: null };

/** Whether the round has work left before its report. */
export function isWork({ group, plan, report }: MemberWork): boolean {
  return group !== null || (plan !== null && report === null);
}

/** Whether the peer trains or averages now. */
export function isBusy(inHand: MemberWork): boolean {
  return isWork(inHand) && (inHand.trained === null || inHand.group !== null);
}

/** Whether the peer is already working on `plan`. */
export function repeats({ plan: currentPlan, report }: MemberWork, plan: Train): boolean {
  const same =
    currentPlan?.round === plan.round &&
    currentPlan.weights === plan.weights &&
    currentPlan.seed === plan.seed;
  return same && report === null;
}

/** Returns the report of a finished training; null if it was not asked for, or was already reported. */
export function trainedReport(
  { plan, trained }: MemberWork,
  event: Extract<MemberEvent, { type: "trained" }>,
): PlanTrained | null {
  if (plan === null || trained !== null || event.round !== plan.round) return null;
  return { ...event, base: plan.weights };
}

/** Whether an order is accepted: once, and only after training in its round. */
export function acceptsOrder({ trained, group, report }: MemberWork, order: GroupOrder): boolean {
  return trained?.round === order.round && report === null && group === null;
}

/** Whether the event ends the group in hand. */
export function endsGroup(
  { group }: MemberWork,
  { round, group: number }: GroupAveraged | GroupFailed,
): boolean {
  return group !== null && group.round === round && group.group === number;
}

/** Returns the effects that end the work in hand. */
export function abortEffects({ plan, trained, group }: MemberWork): readonly MemberEffect[] {
  if (plan !== null && trained === null) return [{ type: "abort_training" }];
  return group !== null ? [{ type: "abort_averaging" }] : [];
}
