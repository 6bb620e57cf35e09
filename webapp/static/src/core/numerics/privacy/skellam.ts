/** Skellam noise for sums of integers. The twin is backend/numerics/privacy/skellam.py, which defines it. */

const MAX_VARIANCE = 2 ** 30;
const ONE = 2 ** 63;

/** Returns P(X = k) for k from 0 on, by ratios of Bessel functions, backwards. */
function probabilities(variance: number): Float64Array {
  const last = Math.ceil(16 * Math.sqrt(variance)) + 64;
  const weights = new Float64Array(last + 1).fill(1);
  let ratio = 0;
  for (let k = last; k > 0; k--) {
    ratio = 1 / ((2 * k) / variance + ratio);
    weights[k] = ratio;
  }
  for (let k = 1; k <= last; k++) weights[k] = (weights[k] ?? 0) * (weights[k - 1] ?? 0);
  let tail = 0;
  for (let k = last; k > 0; k--) tail += weights[k] ?? 0;
  const total = 2 * tail + 1;
  return weights.map((weight) => weight / total);
}

/** Draws integers of mean 0 and the given variance by inversion of a table. */
export class Skellam {
  /** P(|X| <= k) in units of 2^-63, without the last one, in two halves of 32 bits. */
  readonly high: Uint32Array;
  readonly low: Uint32Array;

  constructor(variance: number) {
    if (!(variance > 0 && variance <= MAX_VARIANCE)) {
      throw new RangeError(`A Skellam variance is above 0 and at most 2^30, not ${variance}.`);
    }
    const counts = Array.from(probabilities(variance), (one) => BigInt(Math.floor(ONE * 2 * one)));
    let last = counts.length - 1;
    while (last > 0 && counts[last] === 0n) last -= 1;
    counts[0] = 0n;
    let sum = BigInt(ONE) - counts.reduce((all, one) => all + one, 0n);
    this.high = new Uint32Array(last);
    this.low = new Uint32Array(last);
    for (let k = 0; k < last; k++) {
      sum += counts[k] ?? 0n;
      this.high[k] = Number(sum >> 32n);
      this.low[k] = Number(sum & 0xffffffffn);
    }
  }

  /** Draws independent values [n] from uniform words [2n]. */
  draw(words: Uint32Array): Int32Array {
    const values = new Int32Array(words.length / 2);
    for (let i = 0; i < values.length; i++) {
      const first = words[2 * i] ?? 0;
      const sample = this.#find(first >>> 1, words[2 * i + 1] ?? 0);
      values[i] = first & 1 ? -sample : sample;
    }
    return values;
  }

  /** Returns how many thresholds do not exceed a number. */
  #find(high: number, low: number): number {
    let from = 0;
    let until = this.high.length;
    while (from < until) {
      const middle = (from + until) >>> 1;
      const threshold = this.high[middle] ?? 0;
      const above = threshold === high ? (this.low[middle] ?? 0) > low : threshold > high;
      if (above) until = middle;
      else from = middle + 1;
    }
    return from;
  }
}
