import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromHex } from "../../../../../../webapp/static/src/core/crypto/bytes";
import { choiceKey } from "../../../../../../webapp/static/src/core/crypto/derive";
import { addMasks } from "../../../../../../webapp/static/src/core/crypto/keystream";
import {
  blockCount,
  choose,
  chosenValues,
  Residual,
  takeChosen,
} from "../../../../../../webapp/static/src/core/numerics/masking/sparse";
import { philoxWords } from "../../../../../../webapp/static/src/core/numerics/philox";
import golden from "../../../../../contract/vectors/sparse.json";

const drawn = (parameters: number, share: number, seed: number) =>
  choose(parameters, share, philoxWords(seed, 1, 0, blockCount(parameters)));

describe("a share of the parameters", () => {
  it.each(golden.drawn)(
    "of $parameters is Python's",
    async ({ parameters, share, context, values, blocks }) => {
      const words = new Uint32Array(blockCount(parameters));
      await addMasks(words, [{ key: await choiceKey(fromHex(context)), sign: 1 }]);
      expect(Array.from(choose(parameters, share, words).blocks)).toEqual(blocks);
      expect(chosenValues(parameters, share)).toBe(values);
    },
  );

  it("has the earlier ones of blocks with the same word, as Python's", () => {
    const { parameters, share, words, blocks } = golden.same_words;
    expect(Array.from(choose(parameters, share, Uint32Array.from(words)).blocks)).toEqual(blocks);
  });

  it("and what is left make up the update", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3000 }),
        fc.double({ min: 0.001, max: 1, noNaN: true }),
        fc.nat(),
        (parameters, share, seed) => {
          const values = Float32Array.from({ length: parameters }, (_, i) => i + 1);
          const left = values.slice();
          const sent = takeChosen(drawn(parameters, share, seed), left);
          expect(sent).toHaveLength(chosenValues(parameters, share));
          const both = [...sent, ...left.filter((value) => value !== 0)];
          expect(both.sort((a, b) => a - b)).toEqual(Array.from(values));
          // In their order, so that everybody's are at the same places.
          expect(Array.from(sent)).toEqual(Array.from(sent).sort((a, b) => a - b));
        },
      ),
    );
  });
});

describe("what is left unsent", () => {
  const [first, second] = [new Float32Array(3).fill(1), new Float32Array(3).fill(2)];

  it("waits for the next version, and is forgotten when its own is trained again", () => {
    const residual = new Residual();
    expect(residual.own(0, 3)).toBeNull();
    residual.keep(4, first);
    residual.keep(5, second);
    expect(residual.own(6, 3)).toBe(second);
    expect(residual.own(5, 3)).toBe(first);
    expect(residual.own(6, 3)).toBe(first);
    expect(residual.own(6, 4)).toBeNull();
  });

  it("is kept once where an update counts twice", () => {
    const residual = new Residual();
    residual.keep(4, first);
    residual.keep(5, second);
    residual.keep(5, second);
    expect(residual.own(5, 3)).toBe(first);
  });

  it("is nothing to a task that began anew", () => {
    const residual = new Residual();
    residual.keep(4, first);
    expect(residual.own(0, 3)).toBeNull();
    expect(residual.own(9, 3)).toBeNull();
  });
});
