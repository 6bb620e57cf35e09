/**
 * Compares results of the same work within a tolerance, because machines round differently. The twin, with the reasons,
 * is backend/numerics/aggregation/result_agreement.py.
 */

/** The norm of the difference of two vectors, relative to the longer one, and the cosine between them. */
export interface Likeness {
  readonly distance: number;
  readonly cosine: number;
}

/** Two results agree at this `distance` and `cosine`; otherwise they are doubtful up to the distance `blame`. */
export interface LikenessTolerance extends Likeness {
  readonly blame: number;
}

export type LikenessAgreement = "same" | "doubtful" | "other";

/** Returns the likeness of two vectors. Throws a RangeError if their lengths differ. */
export function likeness(first: Float32Array, second: Float32Array): Likeness {
  if (first.length !== second.length) {
    throw new RangeError(
      `Vectors of ${first.length} and ${second.length} values belong to different models.`,
    );
  }
  const apart = inner(first.length, (i) => {
    const gap = (first[i] as number) - (second[i] as number);
    return gap * gap;
  });
  const squaresOf = (vector: Float32Array) => inner(vector.length, (i) => (vector[i] as number) ** 2);
  const [a, b] = [squaresOf(first), squaresOf(second)];
  if (![apart, a, b].every(Number.isFinite)) return { distance: Number.POSITIVE_INFINITY, cosine: -1 };
  if (a === 0 || b === 0) return a === b ? { distance: 0, cosine: 1 } : { distance: 1, cosine: 0 };
  const product = inner(first.length, (i) => (first[i] as number) * (second[i] as number));
  return { distance: Math.sqrt(apart / Math.max(a, b)), cosine: product / Math.sqrt(a * b) };
}

/** Returns whether two results with this likeness agree. */
export function agreement({ distance, cosine }: Likeness, tolerance: LikenessTolerance): LikenessAgreement {
  if (distance <= tolerance.distance && cosine >= tolerance.cosine) return "same";
  return distance <= tolerance.blame ? "doubtful" : "other";
}

function inner(size: number, at: (index: number) => number): number {
  let total = 0;
  for (let i = 0; i < size; i++) total += at(i);
  return total;
}
