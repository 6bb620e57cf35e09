/** Gaussian noise from the platform's cryptographically secure generator. */

import { gaussian, wordsOf } from "../../core/numerics/privacy/gaussian";

/** The largest number of words that browsers return at a time. */
const WORDS_AT_ONCE = 65_536 / 4;

/** Returns independent Gaussian values with this standard deviation; none are drawn for 0. */
export function gaussianNoise(values: number, deviation: number): Float32Array<ArrayBuffer> {
  if (deviation === 0) return new Float32Array(values);
  const words = new Uint32Array(wordsOf(values));
  for (let start = 0; start < words.length; start += WORDS_AT_ONCE)
    crypto.getRandomValues(words.subarray(start, start + WORDS_AT_ONCE));
  return Float32Array.from(gaussian(words).subarray(0, values), (value) => deviation * value);
}
