/** Converts a model's output to the probability of each answer. */

function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}

/** Returns the softmax of any numbers; the largest cannot overflow. */
export function softmax(values: ArrayLike<number>): number[] {
  let maximum = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) maximum = Math.max(maximum, values[i] as number);
  const shares = Array.from(values, (value) => Math.exp(value - maximum));
  const sum = shares.reduce((total, share) => total + share, 0);
  return shares.map((share) => share / sum);
}

/** Whether all values are probabilities: between 0 and 1. */
function areChances(output: ArrayLike<number>): boolean {
  return Array.from(output).every((value) => value >= 0 && value <= 1);
}

/**
 * Returns the probability of each answer; a single value is that of the second of two. `logits` says that the output
 * has to be converted; so have values outside of 0 to 1.
 */
export function chancesOf(output: ArrayLike<number>, logits: boolean): number[] {
  const raw = logits || !areChances(output);
  if (output.length === 1) {
    const value = output[0] as number;
    const chance = raw ? sigmoid(value) : value;
    return [1 - chance, chance];
  }
  return raw ? softmax(output) : Array.from(output);
}
