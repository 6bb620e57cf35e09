import { expect, test } from "vitest";
import type { TextSpec } from "../../../../../webapp/static/src/core/preprocessing/declaration";
import { Tokenizer } from "../../../../../webapp/static/src/core/preprocessing/text/tokens";
import { write } from "../../../../../webapp/static/src/workers/playground/text-generation";

const rule: TextSpec = {
  format: "minga-preprocess/1",
  kind: "text",
  inputs: [{ shape: [4], dtype: "int32" }],
  labels: [{ shape: [4], dtype: "int32" }],
  normalize: "none",
  lower: false,
  tokenizer: "characters",
  punctuation: "tokens",
  tokens: ["a", "b", "c", "d", "é"],
  merges: [],
  unknown: "drop",
  length: 4,
  stride: 4,
  text_column: null,
  label_column: null,
  delimiter: ",",
  label: null,
};

/** A model that is sure of the letter `step` after each letter, in a circle. */
function circle(step: number) {
  return async (ids: readonly number[]) => {
    const output = new Float32Array(ids.length * rule.tokens.length);
    ids.forEach((id, i) => {
      output[i * rule.tokens.length + ((id + step) % rule.tokens.length)] = 1;
    });
    return output;
  };
}

async function written(
  text: string,
  { tokens = 6, steps = [1], most = Number.POSITIVE_INFINITY, temperature = 1 } = {},
) {
  const said: (readonly string[])[] = [];
  let left: readonly string[] = [];
  await write({
    rule,
    prompt: { text, temperature, tokens },
    models: steps.map(circle),
    random: () => 0.5,
    wrote: async (texts, lacking) => {
      said.push(texts);
      left = lacking;
      return said.length < most;
    },
  });
  return { said, left };
}

test("a text goes on letter by letter, also beyond what the model sees at once", async () => {
  const { said } = await written("ab");
  expect(said.map(([text]) => text)).toEqual(["c", "cd", "cdé", "cdéa", "cdéab", "cdéabc"]);
});

test("versions go on side by side, each with its own text", async () => {
  const { said } = await written("a", { steps: [1, 2], tokens: 3 });
  expect(said.at(-1)).toEqual(["bcd", "céb"]);
});

test("whoever stops it has what was written so far", async () => {
  expect((await written("a", { most: 2 })).said.at(-1)).toEqual(["bc"]);
});

test("what the vocabulary lacks is left out, and told once", async () => {
  const { said, left } = await written("a?b?!", { tokens: 1 });
  expect(said).toEqual([["c"]]);
  expect(left).toEqual(["?", "!"]);
});

test("a beginning without anything that the model knows is refused", async () => {
  await expect(written("?!")).rejects.toThrow("There is no word or letter in it that the task knows");
});

test("ids become text again: words with spaces, bytes without half letters", () => {
  const words = new Tokenizer({ ...rule, tokenizer: "words", tokens: ["the", "cat", ",", "sat"] });
  expect(words.decode(words.encode("the cat, the cat sat"))).toBe("the cat, the cat sat");
  const bytes = new Tokenizer({ ...rule, tokenizer: "bytes", tokens: [] });
  const ids = bytes.encode("né");
  expect(bytes.decode(ids)).toBe("né");
  expect(bytes.decode(ids.slice(0, -1))).toBe("n");
  const pairs = new Tokenizer({ ...rule, tokenizer: "pairs", tokens: [], merges: [[104, 105]] });
  expect(pairs.decode(pairs.encode("hi hi é"))).toBe("hi hi é");
});
