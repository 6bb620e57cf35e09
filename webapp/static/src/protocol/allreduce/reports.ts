/**
 * What a member of a group reports of itself and of others. A part of member.ts;
 * `backend/protocols/mesh/allreduce/reports.py` is the twin.
 */

import type { Leader } from "./leader";
import type { Standing } from "./standing";

/**
 * What the member that stands so begins with, what it holds, and who keeps it waiting. It goes to the leader, which may be
 * itself, and where all have to know it to all.
 */
export class Reports {
  constructor(
    private readonly own: Standing,
    private readonly leader: Leader,
  ) {}

  /** What others have to know in any case. */
  stand(): void {
    const { arrived, key, others, place, promised, words } = this.own;
    const [view] = promised;
    const leader = this.own.leader(view);
    if (this.own.prepared) {
      const weight = arrived.weights.get(place) ?? 0;
      this.own.say(["begin"], others, words.begin(weight, arrived.commitments.get(place) ?? [], key));
    }
    if (this.own.leading === null) {
      // Before its answer, so that the leader knows whom to go on without when it plans.
      for (const [one, reason] of arrived.unfit) {
        this.own.say(["unfit", view, one], [leader], words.complain(one, "unfit", reason));
      }
    }
    if (this.own.step.settling) return;
    if (this.own.changing) {
      this.own.say(["change", view], others, words.change(view, this.own.answer));
    } else if (leader !== place && !this.own.isCurrent) {
      this.own.say(["answer", ...promised], [leader], words.holds(promised, this.own.answer));
    }
  }

  /** Says to the leader, once a step, that it holds all that this step wants. */
  accept(): void {
    const { hasAccepted, isCurrent, leading, place, plan, words } = this.own;
    if (!isCurrent) return;
    const answer = hasAccepted ? this.own.accepted : this.own.step.acceptable;
    if (answer === null) return;
    this.own.accepted = answer;
    if (leading !== null) {
      leading.accepted.set(place, answer.parts);
      return;
    }
    const { ballot } = plan;
    this.own.say(["holds", ...ballot], [this.own.leader(ballot[0])], words.holds(ballot, answer));
  }

  /** Says to the leader who keeps it waiting. */
  complain(): void {
    const { hasAccepted, isCurrent, leading, now, place, plan, slowAt, step, words } = this.own;
    if (!isCurrent || hasAccepted) return;
    const leader = this.own.leader(plan.ballot[0]);
    for (const one of plan.alive) {
      const fault = one === place ? null : step.fault(one, this.own.gone(one), now - slowAt);
      if (fault === null) continue;
      if (leading !== null) {
        this.leader.complained(place, one, fault);
        continue;
      }
      const complaint = words.complain(one, fault, `Nothing comes from place ${one}.`);
      this.own.say(["complain", ...plan.ballot, one, fault], [leader], complaint);
    }
  }
}
