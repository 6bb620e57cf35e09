import { counted, number, percent } from "../formatting";

export const mistakes = {
  about: {
    "own-aside": "They are yours, and kept aside: your device does not train on them.",
    own: "They are yours, and your device trains on them: with others it will be wrong more often.",
    aside: "Nobody trains on them.",
    dealt: "Your device trained on them last: with others it will be wrong more often.",
  },
  /** Where an example has one answer. */
  right: (version: number, right: number, examples: number) =>
    `Version ${number(version)} is right with ${number(right)} of ${counted(examples, "example")}.`,
  /** Where it has many. */
  share: (version: number, share: number, examples: number) =>
    `Version ${number(version)} is right ${percent(share)} of the time in ${counted(examples, "example")}.`,
  matrix: "What it takes for what: a row is what an example is, a column what the model says.",
  often: "What it takes for what most often.",
  truth: "It is",
  guess: "Taken for",
  times: "How often",
  /** A cell of the matrix, for those who do not see its colour. */
  cell: (truth: string, guess: string, count: number) => `${number(count)} of ${truth} taken for ${guess}`,
  taken: (truth: string, guess: string, chance: number) =>
    `${truth}, taken for ${guess} (${percent(chance)} sure)`,
  /** Of a text whose next letter or word the model got wrong. */
  next: (truth: string, guess: string, chance: number) =>
    `Then comes “${truth}”; the model says “${guess}” (${percent(chance)} sure)`,
};
