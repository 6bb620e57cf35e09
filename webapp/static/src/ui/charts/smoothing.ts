/** Smooths curves by an exponential moving average, as TensorBoard and Weights & Biases do. Pure. */

/** A value of a curve; null where it has none. */
export type CurveValue = number | null;

/** The largest weight of the slider: at 1 the average would never leave its first value. */
export const MOST_SMOOTHING = 0.99;

/**
 * Returns the moving average of `values`, in which the past has `weight` (0 to less than 1) and each new value the
 * rest. The sum is divided by the weights that it had so far (bias correction of Kingma & Ba 2015, section 3), so
 * that the curve begins at its first value. Gaps stay gaps and change nothing.
 */
export function smooth(values: readonly CurveValue[], weight: number): CurveValue[] {
  if (weight <= 0) return [...values];
  const past = Math.min(weight, MOST_SMOOTHING);
  let sum = 0;
  let weights = 0;
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return null;
    sum = past * sum + (1 - past) * value;
    weights = past * weights + (1 - past);
    return sum / weights;
  });
}
