/** What a model's output says of how likely each answer is. */

function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}

/** Shares of 1 for any numbers; the largest cannot overflow. */
export function softmax(values: ArrayLike<number>): number[] {
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) most = Math.max(most, values[i] as number);
  const shares = Array.from(values, (value) => Math.exp(value - most));
  const sum = shares.reduce((total, share) => total + share, 0);
  return shares.map((share) => share / sum);
}

/** Whether these are chances already: each of 0 to 1. */
function areChances(output: ArrayLike<number>): boolean {
  return Array.from(output).every((value) => value >= 0 && value <= 1);
}

/**
 * The chance of each answer; a single value is that of the second of two. `logits` says that the output is none yet,
 * and what lies outside of 0 to 1 is none either.
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
