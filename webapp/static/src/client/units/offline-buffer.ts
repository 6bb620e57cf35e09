/** The number of units that this page holds, for a time without a connection. */

import { bufferedSlots } from "../../protocol/client/unit-buffer";
import type { UnitClientEvent } from "../../protocol/units/unit-client-events";

/** The memory for buffered units: a phone's browser ends a page that takes much. */
const MEMORY_BYTES = 2 ** 27;
/** A page trains one unit at a time. */
const AT_ONCE = 1;

type Want = Extract<UnitClientEvent, { readonly type: "want" }>;

/** Owns what is known about a unit: more are held once it is known how long one takes. */
export class OfflineBuffer {
  #asked: number;
  #allowed = 0;
  #unitSeconds = 0;
  #resultBytes = 0;

  /** `asked` are the seconds for which the volunteer asks. */
  constructor(asked = 0) {
    this.#asked = asked;
  }

  ask(seconds: number): void {
    this.#asked = seconds;
  }

  /** Takes the seconds that the task allows. */
  allow(seconds: number): void {
    this.#allowed = seconds;
  }

  /** Takes how long the last unit was trained, and how long its result is. */
  trained(seconds: number, resultBytes: number): void {
    this.#unitSeconds = seconds;
    this.#resultBytes = resultBytes;
  }

  /** Returns how many units to hold now. */
  want(): Want {
    const offline = Math.min(this.#asked, this.#allowed);
    const slots = bufferedSlots(offline, AT_ONCE, this.#unitSeconds, this.#resultBytes, MEMORY_BYTES);
    return { type: "want", slots, at_once: AT_ONCE, offline };
  }
}
