/** Limits the rate of work that takes time from training. Pure: times are arguments, in milliseconds. */

/** The largest share of all time. */
const SHARE = 0.05;
const LEAST = 2000;

export class RateLimit {
  #free = Number.NEGATIVE_INFINITY;

  /** Records work from `begin` to `end`. */
  record(begin: number, end: number): void {
    this.#free = end + Math.max(LEAST, (end - begin) / SHARE);
  }

  /** Returns how long the work has to wait. */
  wait(now: number): number {
    return Math.max(0, this.#free - now);
  }
}
