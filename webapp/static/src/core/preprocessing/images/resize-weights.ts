/**
 * Computes the weight of each source pixel in each target pixel, along one axis: whole numbers that add up to 2**20.
 */

import type { Resize } from "../declaration";

/** The part of the source that is resized to the target, in source pixels. */
export interface Span {
  readonly start: number;
  readonly length: number;
}

/** Weights of the source pixels from `first` on. */
export interface Taps {
  readonly first: number;
  readonly weights: Float64Array;
}

const ONE = 2 ** 20;

/** Keys 1981 with a = -0.5. */
function cubic(x: number): number {
  const t = Math.abs(x);
  if (t < 1) return (1.5 * t - 2.5) * t * t + 1;
  if (t < 2) return ((-0.5 * t + 2.5) * t - 4) * t + 2;
  return 0;
}

/** Returns the weight function of source pixel `i` for target pixel `o`, and its radius. */
function kernel(resize: Exclude<Resize, "nearest">, { start }: Span, s: number) {
  const f = Math.max(s, 1);
  switch (resize) {
    case "bilinear":
      return { reach: f, weight: (i: number, c: number) => Math.max(0, 1 - Math.abs((i + 0.5 - c) / f)) };
    case "bicubic":
      return { reach: 2 * f, weight: (i: number, c: number) => cubic((i + 0.5 - c) / f) };
    case "area":
      return {
        reach: f,
        weight: (i: number, _: number, o: number) =>
          Math.max(0, Math.min(i + 1, start + (o + 1) * s) - Math.max(i, start + o * s)),
      };
  }
}

function rounded(weights: readonly number[]): Float64Array {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const whole = Float64Array.from(weights, (weight) => Math.floor((weight / sum) * ONE + 0.5));
  const largest = whole.indexOf(Math.max(...whole));
  whole[largest] = (whole[largest] as number) + ONE - whole.reduce((total, weight) => total + weight, 0);
  return whole;
}

/** Returns the taps of each of `m` target pixels over an axis of `n` source pixels. */
export function axisTaps(resize: Resize, n: number, span: Span, m: number): Taps[] {
  const s = span.length / m;
  const centre = (o: number) => span.start + (o + 0.5) * s;
  if (resize === "nearest") {
    return Array.from({ length: m }, (_, o) => ({
      first: Math.min(n - 1, Math.max(0, Math.floor(centre(o)))),
      weights: Float64Array.of(ONE),
    }));
  }
  const { reach, weight } = kernel(resize, span, s);
  return Array.from({ length: m }, (_, o) => {
    const c = centre(o);
    // One more pixel on each side than can have weight, so that rounding never omits a weight.
    const first = Math.max(0, Math.floor(c - reach) - 1);
    const last = Math.min(n - 1, Math.ceil(c + reach) + 1);
    const weights = Array.from({ length: last - first + 1 }, (_, k) => weight(first + k, c, o));
    return { first, weights: rounded(weights) };
  });
}
