/** The next token of a text that a model writes. */

import { chancesOf, softmax } from "./probabilities";

/**
 * Draws an index, `uniform` being a number from 0 to below 1, with chances to the power of 1 / `temperature`, made to
 * add up to 1 again (Ackley et al. 1985). With a temperature of 0 it is the likeliest. Those before `first` are never
 * drawn.
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
  // Rounding may leave a little; what could be drawn last is meant.
  return first + sharpened.map((chance) => chance > 0).lastIndexOf(true);
}
