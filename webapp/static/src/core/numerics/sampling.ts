/** Samples the next token of a text that a model writes. */

import { chancesOf, softmax } from "./probabilities";

/**
 * Draws an index by `uniform`, a number in [0, 1). The probabilities are raised to the power 1 / `temperature` and
 * normalised (Ackley et al. 1985); a temperature of 0 takes the likeliest. Indices before `first` are never drawn.
 */
export function draw(
  output: ArrayLike<number>,
  { temperature, uniform, first = 0 }: { temperature: number; uniform: number; first?: number },
): number {
  const chances = chancesOf(output, false).slice(first);
  if (temperature <= 0) return first + chances.indexOf(Math.max(...chances));
  const sharpened = softmax(chances.map((chance) => Math.log(chance) / temperature));
  let left = uniform;
  for (const [i, chance] of sharpened.entries()) {
    left -= chance;
    if (left < 0) return first + i;
  }
  // Rounding may leave a remainder, which goes to the last index that can be drawn.
  return first + sharpened.map((chance) => chance > 0).lastIndexOf(true);
}
