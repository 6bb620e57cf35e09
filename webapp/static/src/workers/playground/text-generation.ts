/** Lets versions of a model continue a text, token by token. */

import { elements } from "../../core/data/examples";
import type { Prompt } from "../../core/messages/playground";
import { draw } from "../../core/numerics/sampling";
import type { TextSpec } from "../../core/preprocessing/declaration";
import { Tokenizer } from "../../core/preprocessing/text/tokens";
import { padIds } from "../../core/preprocessing/text/windows";

export interface GenerationOptions {
  readonly rule: TextSpec;
  readonly prompt: Prompt;
  /** Returns the output [length, tokens] of each version for stored ids [length]. */
  readonly models: readonly ((ids: readonly number[]) => Promise<Float32Array>)[];
  readonly random: () => number;
  /** Takes the text of each version so far; false ends the writing. */
  readonly wrote: (texts: readonly string[], lacking: readonly string[]) => Promise<boolean>;
}

/**
 * Writes, and calls `wrote` after each token. All versions sample with the same random numbers, so that only what
 * they learned makes them differ. Throws DataProblem for a text without any known token.
 */
export async function write({ rule, prompt, models, random, wrote }: GenerationOptions): Promise<void> {
  const tokenizer = new Tokenizer(rule);
  const begun = tokenizer.encode(prompt.text);
  padIds(begun, rule.length);
  const lacking = tokenizer.lacking(prompt.text);
  const written = models.map((): number[] => []);
  for (let count = 0; count < prompt.tokens; count++) {
    const uniform = random();
    for (const [i, model] of models.entries()) {
      const own = written[i] as number[];
      const context = [...begun, ...own].slice(-rule.length);
      const output = await model(padIds(context, rule.length));
      const width = output.length / elements(rule.inputs[0]?.shape ?? []);
      const next = output.subarray((context.length - 1) * width, context.length * width);
      own.push(draw(next, { temperature: prompt.temperature, uniform, first: tokenizer.first }));
    }
    const texts = written.map((ids) => tokenizer.decode(ids));
    if (!(await wrote(texts, lacking))) return;
  }
}
