/** A text that versions of a model go on with, token by token. */

import { elements } from "../../core/data/examples";
import type { Prompt } from "../../core/messages/playground";
import { draw } from "../../core/numerics/sampling";
import type { TextSpec } from "../../core/preprocessing/declaration";
import { Tokenizer } from "../../core/preprocessing/text/tokens";
import { padded } from "../../core/preprocessing/text/windows";

export interface GenerationOptions {
  readonly rule: TextSpec;
  readonly prompt: Prompt;
  /** The output [length, tokens] of each version for stored ids [length]. */
  readonly models: readonly ((ids: readonly number[]) => Promise<Float32Array>)[];
  readonly random: () => number;
  /** What each has written so far; false ends it. */
  readonly wrote: (texts: readonly string[], lacking: readonly string[]) => Promise<boolean>;
}

/**
 * Calls `wrote` after each token. All versions draw by the same random numbers, so that they differ in nothing but what
 * they learned. Throws DataProblem for a text without anything that the task knows.
 */
export async function write({ rule, prompt, models, random, wrote }: GenerationOptions): Promise<void> {
  const tokenizer = new Tokenizer(rule);
  const begun = tokenizer.encode(prompt.text);
  padded(begun, rule.length);
  const lacking = tokenizer.lacking(prompt.text);
  const written = models.map((): number[] => []);
  for (let count = 0; count < prompt.tokens; count++) {
    const uniform = random();
    for (const [i, model] of models.entries()) {
      const own = written[i] as number[];
      const context = [...begun, ...own].slice(-rule.length);
      const output = await model(padded(context, rule.length));
      const width = output.length / elements(rule.inputs[0]?.shape ?? []);
      const next = output.subarray((context.length - 1) * width, context.length * width);
      own.push(draw(next, { temperature: prompt.temperature, uniform, first: tokenizer.first }));
    }
    const texts = written.map((ids) => tokenizer.decode(ids));
    if (!(await wrote(texts, lacking))) return;
  }
}
