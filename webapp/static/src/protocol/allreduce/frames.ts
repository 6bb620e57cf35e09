/** The frames of one group, from what the machine of a member knows (member.ts). */

import type { GroupOrder } from "../wire/mesh";
import type { Control, Places } from "./events";
import type { Answer, Ballot, Digest, Plan } from "./plan";

export type FrameOf<T extends Control["type"]> = Extract<Control, { readonly type: T }>;
/** Why a member is complained of. */
export type Fault = FrameOf<"complain">["fault"];

/** All frames name the round and the group that they are of. */
export class Words {
  readonly #of: { readonly round: number; readonly group: number };

  constructor({ round, group }: GroupOrder) {
    this.#of = { round, group };
  }

  begin(weight: number, commitments: readonly Digest[], key: Uint8Array): FrameOf<"begin"> {
    return { type: "begin", ...this.#of, weight, commitments, key };
  }

  holds([view, step]: Ballot, answer: Answer): FrameOf<"holds"> {
    return { type: "holds", ...this.#of, view, step, ...answer };
  }

  change(view: number, answer: Answer): FrameOf<"change"> {
    return { type: "change", ...this.#of, view, ...answer };
  }

  complain(place: number, fault: Fault, reason: string): FrameOf<"complain"> {
    return { type: "complain", ...this.#of, place, fault, reason };
  }

  ask([view, step]: Ballot): FrameOf<"ask"> {
    return { type: "ask", ...this.#of, view, step };
  }

  config({ ballot, alive, owners, parts, weights }: Plan): FrameOf<"config"> {
    const [view, step] = ballot;
    return { type: "config", ...this.#of, view, step, alive, owners, parts, weights };
  }

  give([view, step]: Ballot, part: number, places: Places): FrameOf<"give"> {
    return { type: "give", ...this.#of, view, step, part, places };
  }

  decide(
    { ballot, alive }: Plan,
    { parts, weights }: Answer,
    contributors: readonly Places[],
  ): FrameOf<"decide"> {
    const [view, step] = ballot;
    return {
      type: "decide",
      ...this.#of,
      view,
      step,
      survivors: alive,
      parts,
      contributors,
      weights,
    };
  }

  giveUp(view: number, reason: string): FrameOf<"give_up"> {
    return { type: "give_up", ...this.#of, view, reason };
  }
}

/** What a member says in such a frame that it holds. */
export function answerOf({ held, parts, weights }: FrameOf<"holds" | "change">): Answer {
  return { held: ballotOf(held), parts, weights };
}

export function ballotOf(pair: readonly number[]): Ballot {
  return [pair[0] ?? 0, pair[1] ?? 0];
}
