/**
 * What a member of a group does while it leads a view: it gathers answers, plans a step of them, says who is in it and who hands
 * on what, and decides when all hold the same. A part of member.ts; `backend/protocols/mesh/allreduce/leader.py` is the
 * twin.
 */

import type { Ending } from "./ending";
import type { Places } from "./events";
import { answerOf, ballotOf, type Fault, type FrameOf } from "./frames";
import type { Leadership } from "./leadership";
import { type Answers, compareBallots, gifts, type Plan, planned } from "./plan";
import type { Standing } from "./standing";
import type { Handed } from "./step";
import type { Views } from "./views";

/** The member that stands so; nothing happens while it has no leadership. */
export class Leader {
  constructor(
    private readonly own: Standing,
    private readonly ending: Ending,
    private readonly views: Views,
  ) {}

  // What is heard.

  /** Something is wrong between two members, or with the second; this one may be the first itself. */
  complained(by: number, of: number, fault: Fault): void {
    const { leading, step } = this.own;
    if (leading === null) return;
    // In a ring everybody waits for everybody: without it, it will show who is slow.
    if (fault === "slow" && step.isRing) leading.news = true;
    else leading.complained(by, of, fault);
  }

  /** A member says what it holds: all of the step that is planned, or what another is planned from. */
  answered(place: number, frame: FrameOf<"holds">): void {
    const { leading } = this.own;
    const { view, step, held, parts } = frame;
    if (leading === null || compareBallots(leading.ballot, [view, step]) !== 0) return;
    if (!this.own.isWhole(frame)) return;
    if (!leading.planned) leading.answers.set(place, answerOf(frame));
    else if (compareBallots(ballotOf(held), leading.ballot) === 0) leading.accepted.set(place, parts);
  }

  // What follows.

  /** Does all that the leadership asks for now. */
  lead(): void {
    const { arrived, changes, leading, others, place } = this.own;
    if (leading === null) return;
    leading.count(changes);
    for (const one of arrived.unfit.keys()) leading.complained(place, one, "unfit");
    const moved = this.views.moved();
    const left = others.filter((one) => !this.own.gone(one) && !moved.includes(one));
    if (!leading.planned) {
      this.#gather(leading, left);
      return;
    }
    this.#sayPlan(leading);
    const { alive } = this.own.plan;
    const agreed = leading.agreed(alive);
    const lost = alive.some((one) => one !== place && !left.includes(one));
    if (agreed) this.ending.decide();
    else if (agreed === false || leading.news || lost) this.#leadAgain(leading);
  }

  /** With the next step; or in a higher view, if somebody that is there went on to one. */
  #leadAgain(leading: Leadership): void {
    const moved = this.views.moved();
    if (moved.length > 0) {
      this.views.join(moved);
      return;
    }
    leading.again(this.own.now);
    this.own.promised = leading.ballot;
  }

  /** Waits for answers, and plans the step when they are there. */
  #gather(leading: Leadership, members: Places): void {
    const { least, now, order, place, words } = this.own;
    const [view, step] = leading.ballot;
    leading.answers.set(place, this.own.answer);
    const answers = new Map(
      [place, ...members].flatMap((one) => {
        const answer = leading.answers.get(one);
        return answer ? [[one, answer] as const] : [];
      }),
    );
    const waiting = members.filter((one) => !answers.has(one));
    const over = now >= leading.since + order.patience * (step > 0 ? 2 : 1);
    const enough = answers.size >= least;
    if (1 + members.length < least || (over && !enough)) {
      this.views.move(view + 1);
      return;
    }
    if (step > 0 || enough) this.own.say(["ask", view, step], waiting, words.ask(leading.ballot));
    if ((waiting.length === 0 || over) && enough && !this.own.step.settling) this.#plan(leading, answers);
  }

  #plan(leading: Leadership, answers: Answers): void {
    const { least, place } = this.own;
    const { ballot, troubles } = leading;
    const { plan, heeded } = planned(ballot, place, least, answers, troubles);
    // Without slow members too few are left: perhaps another leader reaches more.
    if (plan === null || (!heeded && leading.passedOver)) this.views.move(ballot[0] + 1);
    else if (!plan.alive.includes(place)) {
      this.ending.giveUp("The others have to go on without this member.");
    } else {
      // Everybody is slow: that says nothing of anybody. Who still is, is complained of again.
      if (!heeded) {
        troubles.slow.clear();
        leading.passedOver = true;
      }
      this.#begin(leading, plan, answers);
    }
  }

  #begin(leading: Leadership, plan: Plan, answers: Answers): void {
    const { place, step } = this.own;
    this.own.adopt(plan);
    leading.begin(gifts(plan, answers, leading.troubles));
    const own = leading.gifts.filter(({ giver }) => giver === place);
    step.handed = own.map(({ part, receiver }): Handed => ({ part, place: receiver }));
  }

  /** The plan, and who has to hand on what. */
  #sayPlan(leading: Leadership): void {
    const { now, order, others, place, plan, slowAt, words } = this.own;
    const { ballot, first } = plan;
    if (first) return;
    this.own.say(["config", ...ballot], others, words.config(plan));
    const late = now >= slowAt + order.patience;
    const byGiver = new Map<string, { giver: number; part: number; places: number[] }>();
    for (const { giver, receiver, part } of leading.gifts) {
      if (late && !leading.accepted.has(receiver)) leading.complained(receiver, giver, "slow");
      if (giver === place) continue;
      const places = byGiver.get(`${giver}/${part}`)?.places ?? [];
      byGiver.set(`${giver}/${part}`, { giver, part, places: [...places, receiver] });
    }
    for (const { giver, part, places } of byGiver.values()) {
      this.own.say(["give", ...ballot, part], [giver], words.give(ballot, part, places));
    }
  }
}
