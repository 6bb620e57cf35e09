/**
 * How a group ends for a member: by the result of all who are left, or by none. A part of member.ts;
 * `backend/protocols/mesh/allreduce/ending.py` is the twin.
 */

import type { FrameOf } from "./frames";
import { fraction } from "./plan";
import type { Standing } from "./standing";

/** Whether it is `over` for the member that stands so, and what others are told about it from then on. */
export class Ending {
  #told: FrameOf<"decide" | "give_up"> | null = null;

  constructor(private readonly own: Standing) {}

  /** Nothing but the end is said any more. */
  get over(): boolean {
    return this.#told !== null;
  }

  /** All alive hold the same: that is the result. Said by the leader. */
  decide(): void {
    const { accepted, arrived, others, plan, words } = this.own;
    if (accepted === null) return;
    const contributors = accepted.parts.map((digest, part) => arrived.contributors(part, digest) ?? []);
    const decide = words.decide(plan, accepted, contributors);
    this.#take(decide);
    this.own.say(["end"], others, decide);
  }

  /** A leader says what the result is. Nothing is taken twice, or after giving up. */
  decided(frame: FrameOf<"decide">): void {
    if (!this.over && this.#fits(frame)) this.#take(frame);
  }

  /** No result for this member, which takes none later; `reason` is for people. */
  giveUp(reason: string): void {
    const { out, others, promised, words } = this.own;
    this.#told = words.giveUp(promised[0], reason);
    this.own.say(["end"], others, this.#told);
    out.push({ type: "fail", reason });
  }

  /** That member does not know yet that it is over here. */
  remind(place: number): void {
    if (this.#told !== null) this.own.say(["end"], [place], this.#told);
  }

  #fits({ survivors, parts, contributors, weights }: FrameOf<"decide">): boolean {
    const { count } = this.own;
    const whole = parts.length === this.own.parts && contributors.length === this.own.parts;
    const places = [...survivors, ...contributors.flat()];
    return whole && weights.length === count && places.every((place) => place < count);
  }

  /** Takes the result, if it holds all of it, and tells those who asked for another leader. */
  #take(frame: FrameOf<"decide">): void {
    const { arrived, changes, order, out } = this.own;
    this.#told = frame;
    this.own.say(["end"], [...changes.keys()], frame);
    const { parts, contributors, survivors, weights } = frame;
    if (!parts.every((digest, part) => arrived.contributors(part, digest) !== null)) {
      out.push({ type: "fail", reason: "The group went on without this member." });
      return;
    }
    const lengths = order.bounds.slice(1).map((end, part) => end - (order.bounds[part] as number));
    const share = fraction(lengths, contributors, weights);
    out.push({ type: "finish", parts, contributors, survivors, weights, fraction: share });
  }
}
