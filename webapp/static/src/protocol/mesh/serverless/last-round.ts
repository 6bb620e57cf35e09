/** What counted last for a peer, of which it makes the next round; `backend/protocols/mesh/serverless/last_round.py` is the mirror. */

import type { Evaluate, Train } from "../../rounds/participant-events";
import type { GroupOrder, ServerToPeer } from "../../wire/mesh";
import { MOST_AHEAD, nextEvaluation, nextPlan } from "./plan";

/** Of a round's time, for who measures before it trains. */
const MEASURING_SHARE = 0.25;

/** The last plan, order and exam that counted for a peer, whoever gave them. Owned by its machine; times are in seconds. */
export class Last {
  #plan: Train | null = null;
  #order: GroupOrder | null = null;
  #exam: Evaluate | null = null;
  #number = 0;

  get plan(): Train | null {
    return this.#plan;
  }

  get order(): GroupOrder | null {
    return this.#order;
  }

  get exam(): Evaluate | null {
    return this.#exam;
  }

  /** The newest round that the peer heard of. */
  get number(): number {
    return this.#number;
  }

  /** How long peers wait for each other; 0 before the first group. */
  get patience(): number {
    return this.#order?.patience ?? 0;
  }

  /** From setting out to the group, at most: who measures has as much time to train as the others. */
  get seconds(): number {
    return (1 + MEASURING_SHARE) * (this.#order?.seconds ?? 0);
  }

  /** The server said something. */
  told(frame: ServerToPeer): void {
    if (frame.type === "evaluate") this.#exam = frame;
    if (frame.type !== "train" && frame.type !== "state") return;
    this.#number = Math.max(this.#number, frame.round);
    if (frame.type === "train") this.#plan = frame;
    // The owner wants no rounds: there are none while the server is away, either.
    else if (frame.phase === "paused" || frame.phase === "finished") this.#plan = null;
  }

  /** This peer's group `order` has a result. */
  averaged(order: GroupOrder): void {
    this.#order = order;
    this.#number = Math.max(this.#number, order.round);
  }

  /** Whether a round of this number is followed. */
  leadsTo(number: number): boolean {
    return number > this.#number && number <= this.#number + MOST_AHEAD;
  }

  /** Round `number` begins from `weights`: its plan is made, where there is something to make it of. */
  setOut(number: number, weights: string): void {
    this.#number = number;
    if (this.#plan && this.#order) {
      this.#plan = nextPlan(this.#plan, number, weights, this.#order.seconds);
    }
  }

  /** What measures the weights that the plan begins with; null where that was never asked for. */
  examine(): Evaluate | null {
    if (this.#exam && this.#plan && this.#order) {
      this.#exam = nextEvaluation(this.#exam, this.#plan, MEASURING_SHARE * this.#order.seconds);
    }
    return this.#exam;
  }
}
