/** What a peer of a mesh has in hand of a round. Pure; `backend/protocols/mesh/member_work.py` is the mirror. */

import type { Train } from "../rounds/participant-events";
import type { GroupOrder } from "../wire/mesh";
import type { GroupAveraged, GroupFailed, MemberEffect, MemberEvent, PlanTrained } from "./member-events";

export interface MemberWork {
  /** Until its round is over. */
  readonly plan: Train | null;
  /** From its order to its result. */
  readonly group: GroupOrder | null;
  /** What the server is told of either, until it needs no repetition of that. */
  readonly trained: PlanTrained | null;
  readonly report: GroupAveraged | GroupFailed | null;
}

export const NO_WORK: MemberWork = { plan: null, trained: null, group: null, report: null };

/** Whether there is anything left to do before the round's report. */
export function isWork({ group, plan, report }: MemberWork): boolean {
  return group !== null || (plan !== null && report === null);
}

/** Whether the peer trains or averages now. */
export function isBusy(inHand: MemberWork): boolean {
  return isWork(inHand) && (inHand.trained === null || inHand.group !== null);
}

/** Whether the work for `plan` is in hand already. */
export function repeats({ plan: mine, report }: MemberWork, plan: Train): boolean {
  const same = mine?.round === plan.round && mine.weights === plan.weights && mine.seed === plan.seed;
  return same && report === null;
}

/** What the server is told of a training that is done; null if it was not asked for, or is known. */
export function trainedReport(
  { plan, trained }: MemberWork,
  event: Extract<MemberEvent, { type: "trained" }>,
): PlanTrained | null {
  if (plan === null || trained !== null || event.round !== plan.round) return null;
  return { ...event, base: plan.weights };
}

/** Whether an order counts: once, and for what was trained. */
export function acceptsOrder({ trained, group, report }: MemberWork, order: GroupOrder): boolean {
  return trained?.round === order.round && report === null && group === null;
}

/** Whether that is the end of the group in hand. */
export function endsGroup(
  { group }: MemberWork,
  { round, group: number }: GroupAveraged | GroupFailed,
): boolean {
  return group !== null && group.round === round && group.group === number;
}

/** What the host leaves where nothing of this is in hand any more. */
export function abortEffects({ plan, trained, group }: MemberWork): readonly MemberEffect[] {
  if (plan !== null && trained === null) return [{ type: "abort_training" }];
  return group !== null ? [{ type: "abort_averaging" }] : [];
}
