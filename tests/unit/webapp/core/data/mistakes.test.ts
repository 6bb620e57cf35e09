import { describe, expect, it } from "vitest";
import type { Bundle } from "../../../../../webapp/static/src/core/data/bundle";
import {
  type AnswerReading,
  ModelAnswers,
  readingOf,
} from "../../../../../webapp/static/src/core/data/mistakes";

function bundle(output: readonly number[], label: readonly number[], loss: string | null): Bundle {
  return {
    outputs: [{ name: "out", shape: output, dtype: "float32", loss }],
    labels: [{ name: "out", shape: label, dtype: "float32" }],
  } as unknown as Bundle;
}

describe("what a model's answers are", () => {
  it.each([
    ["a class each", [10], [], "sparse_categorical_crossentropy", { classes: 10, positions: 1, width: 1 }],
    ["one-hot labels", [3], [3], "CategoricalCrossentropy", { classes: 3, positions: 1, width: 3 }],
    ["a sequence", [7, 65], [7], "sparse_categorical_crossentropy", { classes: 65, positions: 7, width: 1 }],
    ["yes or no", [1], [1], "binary_crossentropy", { classes: 2, positions: 1, width: 1, binary: true }],
  ] as const)("%s", (_, output, label, loss, expected) => {
    expect(readingOf(bundle(output, label, loss))).toEqual({ binary: false, ...expected });
  });

  it.each([
    ["a number", [1], [1], "mse"],
    ["several yes or no at once", [4], [4], "binary_crossentropy"],
    ["a distribution of numbers", [4], [4], "mse"],
    ["an output without a loss", [4], [], null],
  ] as const)("no classes: %s", (_, output, label, loss) => {
    expect(readingOf(bundle(output, label, loss))).toBeNull();
  });

  it("no classes: an output that is compared with no label, beside one that is", () => {
    const one = bundle([1], [1], "binary_crossentropy");
    const other = { ...one, labels: [{ name: "kind", shape: [1], dtype: "float32" }] } as unknown as Bundle;
    expect(readingOf(other)).toBeNull();
    expect(readingOf({ ...one, labels: [] })).toBeNull();
  });
});

const three: AnswerReading = { classes: 3, positions: 1, width: 1, binary: false };
const nothing = () => [];

describe("answers", () => {
  it("are counted by what they should be and what they are", () => {
    const answers = new ModelAnswers(three, 5);
    const outputs = Float32Array.of(0.8, 0.1, 0.1, 0.2, 0.7, 0.1, 0.2, 0.3, 0.5);
    answers.add(outputs, [0, 0, 2], 3, nothing);
    const found = answers.findings("own", [[4]]);
    expect([found.examples, found.answers, found.right, found.classes]).toEqual([3, 3, 2, 3]);
    expect([...found.confusion].sort()).toEqual([
      [0, 1],
      [1, 1],
      [8, 1],
    ]);
    expect(found.shapes).toEqual([[4]]);
  });

  it("that are wrong are kept with their example, the surest first, and only so many", () => {
    const answers = new ModelAnswers(three, 2);
    const outputs = Float32Array.of(0.1, 0.5, 0.4, 0.1, 0.9, 0, 0.1, 0.7, 0.2);
    answers.add(outputs, [0, 0, 2], 3, (row) => [Uint8Array.of(row)]);
    const { mistakes } = answers.findings("dealt", []);
    expect(mistakes.map(({ truth, guess, x }) => [truth, guess, x[0]?.[0]])).toEqual([
      [0, 1, 1],
      [2, 1, 2],
    ]);
    expect(mistakes.map(({ chance }) => chance)).toEqual([expect.closeTo(0.9), expect.closeTo(0.7)]);
  });

  it("of rows that only fill a batch up do not count", () => {
    const answers = new ModelAnswers(three, 5);
    answers.add(new Float32Array(9), [0, 0, 0], 1, nothing);
    expect(answers.examples).toBe(1);
  });

  it("without chances are taken for logits", () => {
    const answers = new ModelAnswers(three, 5);
    answers.add(Float32Array.of(0, Math.log(3), 0), [0], 1, nothing);
    expect(answers.findings("own", []).mistakes[0]?.chance).toBeCloseTo(0.6);
  });

  it("to one-hot labels are read as well", () => {
    const answers = new ModelAnswers({ ...three, width: 3 }, 5);
    answers.add(Float32Array.of(0, 1, 0, 0, 0, 1), [0, 1, 0, 1, 0, 0], 2, nothing);
    expect([answers.right, answers.answers]).toEqual([1, 2]);
  });

  it("of a sequence are judged one by one; the surest wrong one is kept, and what fills up is left out", () => {
    const answers = new ModelAnswers({ classes: 2, positions: 3, width: 1, binary: false }, 5);
    answers.add(Float32Array.of(0.6, 0.4, 0.1, 0.9, 1, 0), [1, 0, -1], 1, nothing);
    const { mistakes } = answers.findings("own", []);
    expect([answers.examples, answers.answers, answers.right]).toEqual([1, 2, 0]);
    expect(mistakes.map(({ position, truth, guess }) => [position, truth, guess])).toEqual([[1, 0, 1]]);
  });

  it("of yes or no come as a chance, or as a logit", () => {
    const yesOrNo: AnswerReading = { classes: 2, positions: 1, width: 1, binary: true };
    const chances = new ModelAnswers(yesOrNo, 5);
    chances.add(Float32Array.of(0.9, 0.2), [1, 1], 2, nothing);
    expect([...chances.findings("own", []).confusion.keys()]).toEqual([3, 2]);
    const logits = new ModelAnswers(yesOrNo, 5);
    logits.add(Float32Array.of(0.3, -2), [1, 1], 2, nothing);
    expect([...logits.findings("own", []).confusion.keys()]).toEqual([3, 2]);
    expect(logits.findings("own", []).mistakes[0]?.chance).toBeCloseTo(1 / (1 + Math.exp(-2)));
  });
});
