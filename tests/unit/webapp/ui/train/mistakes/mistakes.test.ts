import { describe, expect, it } from "vitest";
import type { Mistake } from "../../../../../../webapp/static/src/core/data/mistakes";
import type { Values } from "../../../../../../webapp/static/src/core/data/shard";
import type { Preprocess } from "../../../../../../webapp/static/src/core/preprocessing/declaration";
import { confusionsOf, matrixOf } from "../../../../../../webapp/static/src/ui/train/mistakes/confusion";
import { RateLimit } from "../../../../../../webapp/static/src/ui/train/mistakes/rate-limit";
import { namesOf, sampler } from "../../../../../../webapp/static/src/ui/train/mistakes/samples";
import { summaryOf } from "../../../../../../webapp/static/src/ui/train/mistakes/texts";

function mistake(x: Values, position = 0): Mistake {
  return { truth: 0, guess: 1, chance: 0.5, position, x: [x] };
}

const confusion = new Map([
  [0, 6],
  [1, 2],
  [5, 3],
  [8, 1],
]);

describe("what is taken for what", () => {
  it("is a matrix whose rows share out the examples of a class", () => {
    const matrix = matrixOf({ classes: 3, confusion });
    expect(matrix.map((row) => row.map(({ count }) => count))).toEqual([
      [6, 2, 0],
      [0, 0, 3],
      [0, 0, 1],
    ]);
    expect(matrix.map((row) => row.map(({ share }) => share))).toEqual([
      [0.75, 0.25, 0],
      [0, 0, 1],
      [0, 0, 1],
    ]);
    expect(matrix.map((row) => row.findIndex(({ right }) => right))).toEqual([0, 1, 2]);
  });

  it("shares out nothing where a class has no examples", () => {
    const [row] = matrixOf({ classes: 2, confusion: new Map() });
    expect(row?.map(({ share }) => share)).toEqual([0, 0]);
  });

  it("is a list of mix-ups, the most frequent first, without what is right", () => {
    expect(confusionsOf({ classes: 3, confusion }, 5)).toEqual([
      { truth: 1, guess: 2, count: 3 },
      { truth: 0, guess: 1, count: 2 },
    ]);
    expect(confusionsOf({ classes: 3, confusion }, 1)).toHaveLength(1);
  });
});

const text = {
  kind: "text",
  tokenizer: "characters",
  tokens: ["\n", "a", "b", "c"],
  merges: [],
  unknown: "drop",
  label: null,
} as unknown as Preprocess;

describe("an example that the model got wrong", () => {
  it("is the spectrogram of a recording, low frequencies below", () => {
    const rule = { kind: "audio", rate: 8000, seconds: 0.01, window: 64, hop: 16, bins: 2 };
    const sample = sampler(rule as unknown as Preprocess);
    expect(sample(mistake(Float32Array.of(-1, 1, 0, -1)), [[2, 2, 1]])).toEqual({
      kind: "picture",
      width: 2,
      height: 2,
      pixels: Uint8ClampedArray.of(255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 128, 128, 128, 255),
    });
  });

  it("is a picture of its bytes where it has three channels", () => {
    const sample = sampler({ kind: "image" } as Preprocess)(mistake(Uint8Array.of(1, 2, 3, 4, 5, 6)), [
      [1, 2, 3],
    ]);
    expect(sample).toEqual({
      kind: "picture",
      width: 2,
      height: 1,
      pixels: Uint8ClampedArray.of(1, 2, 3, 255, 4, 5, 6, 255),
    });
  });

  it("is a grey picture from dark to bright where nobody says what its numbers are", () => {
    const sample = sampler(null)(mistake(Uint8Array.of(0, 16)), [[1, 2, 1]]);
    expect(sample).toMatchObject({ pixels: Uint8ClampedArray.of(0, 0, 0, 255, 255, 255, 255, 255) });
  });

  it("is a text up to the letter whose follower was asked for", () => {
    const sample = sampler(text)(mistake(Uint8Array.of(0, 1, 2, 3), 2), [[4]]);
    expect(sample).toEqual({ kind: "text", text: "ab", open: true });
  });

  it("is not shown where its numbers say nothing to people", () => {
    expect(sampler(null)(mistake(new Float32Array(48)), [[48]])).toEqual({ kind: "nothing" });
  });
});

describe("the name of a class", () => {
  const label = { kind: "class", classes: ["cat", "dog"], encoding: "index" };

  it("is the task's word for it, the name of its folder or column, or its number", () => {
    const image = { kind: "image", label } as unknown as Preprocess;
    const table = { kind: "table", label: [label] } as unknown as Preprocess;
    expect([image, table].map((one) => namesOf(one, [])(1))).toEqual(["dog", "dog"]);
    expect(namesOf(image, ["Katze", "Hund"])(1)).toBe("Hund");
    expect(namesOf(null, [])(1)).toBe("1");
  });

  it("is a letter where the model writes on", () => {
    expect(namesOf(text, [])(3)).toBe("c");
  });
});

describe("what a version answers, in words", () => {
  it("counts the right ones, and says whose examples they are", () => {
    const found = { about: "own-aside", examples: 30, answers: 30, right: 8 } as const;
    expect(summaryOf(found, 17)).toBe(
      "Version 17 is right with 8 of 30 examples. These are your own held-out examples: your device does not train on them.",
    );
  });

  it("gives a share where an example has many answers", () => {
    const found = { about: "aside", examples: 2, answers: 128, right: 32 } as const;
    expect(summaryOf(found, 1)).toMatch(/^Version 1 is right 25\.0.% of the time in 2 examples\./);
  });
});

describe("the pace of looking", () => {
  it("takes a twentieth of the time at most", () => {
    const pace = new RateLimit();
    expect(pace.wait(0)).toBe(0);
    pace.record(1000, 2000);
    expect(pace.wait(2000)).toBe(20_000);
    expect(pace.wait(50_000)).toBe(0);
  });

  it("waits a moment also where looking takes none", () => {
    const pace = new RateLimit();
    pace.record(1000, 1001);
    expect(pace.wait(1001)).toBe(2000);
  });
});
