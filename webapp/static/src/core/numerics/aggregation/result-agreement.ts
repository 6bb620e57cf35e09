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

/**
 * Returns the norm that an update of `weights` needs to be compared by its own length: weights are rounded after each
 * step, to 2^-24 of their size, and a quarter of the distance allowed is for that.
 */
export function shortestCompared(weights: Float32Array, steps: number, { distance }: Likeness): number {
  const size = Math.sqrt(squaresOf(weights));
  return Number.isFinite(size) ? (4 * size * 2 ** -24 * Math.sqrt(2 * steps)) / distance : 0;
}

/**
 * Returns the likeness of two vectors. Where both are shorter than `shortest`, they are compared as if they had in
 * common what is missing to it. Throws a RangeError if their lengths differ.
 */
export function likeness(first: Float32Array, second: Float32Array, shortest = 0): Likeness {
  if (first.length !== second.length) {
    throw new RangeError(
      `Vectors of ${first.length} and ${second.length} values belong to different models.`,
    );
  }
  const apart = inner(first.length, (i) => {
    const gap = (first[i] as number) - (second[i] as number);
    return gap * gap;
  });
  const [ownA, ownB] = [squaresOf(first), squaresOf(second)];
  if (![apart, ownA, ownB].every(Number.isFinite)) return { distance: Number.POSITIVE_INFINITY, cosine: -1 };
  const common = Math.max(0, shortest ** 2 - Math.max(ownA, ownB));
  const [a, b] = [ownA + common, ownB + common];
  if (a === 0 || b === 0) return a === b ? { distance: 0, cosine: 1 } : { distance: 1, cosine: 0 };
  const product = common + inner(first.length, (i) => (first[i] as number) * (second[i] as number));
  return { distance: Math.sqrt(apart / Math.max(a, b)), cosine: product / Math.sqrt(a * b) };
}

/** Returns whether two results with this likeness agree. */
export function agreement({ distance, cosine }: Likeness, tolerance: LikenessTolerance): LikenessAgreement {
  if (distance <= tolerance.distance && cosine >= tolerance.cosine) return "same";
  return distance <= tolerance.blame ? "doubtful" : "other";
}

function squaresOf(vector: Float32Array): number {
  return inner(vector.length, (i) => (vector[i] as number) ** 2);
}

function inner(size: number, at: (index: number) => number): number {
  let total = 0;
  for (let i = 0; i < size; i++) total += at(i);
  return total;
}
