/** How often something may be done that takes time from training. Pure: times are arguments, in milliseconds. */

/** Of all time, at most this share. */
const SHARE = 0.05;
const LEAST = 2000;

export class RateLimit {
  #free = Number.NEGATIVE_INFINITY;

  /** It was done from `begin` to `end`. */
  took(begin: number, end: number): void {
    this.#free = end + Math.max(LEAST, (end - begin) / SHARE);
  }

  /** How long it has to wait yet. */
  wait(now: number): number {
    return Math.max(0, this.#free - now);
  }
}
