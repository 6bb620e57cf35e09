/**
 * Evaluates a model's answers: counts them by true and predicted class, and keeps the most confident mistakes. Pure.
 */

import type { Bundle } from "./bundle";
import { elements } from "./examples";
import type { Values } from "./shard";

/** A wrong answer to one example. */
export interface Mistake {
  /** Numbers of classes. */
  readonly truth: number;
  readonly guess: number;
  /** The model's probability of its guess, between 0 and 1. */
  readonly chance: number;
  /** Which of the example's answers it is, from 0; 0 if there is only one. */
  readonly position: number;
  /** The example as it is stored, an array for each input. */
  readonly x: readonly Values[];
}

/** The examples of an evaluation: held-out ones, or those that this device trains on. */
export type ExaminedExamples = "own-aside" | "own" | "aside" | "dealt";

export interface MistakeFindings {
  readonly about: ExaminedExamples;
  readonly examples: number;
  /** The number of answers: one per example, or one per position of a sequence. */
  readonly answers: number;
  readonly right: number;
  readonly classes: number;
  /** The shape of one example, for each input. */
  readonly shapes: readonly (readonly number[])[];
  /** The number of answers by truth * classes + guess; only those that occur. */
  readonly confusion: ReadonlyMap<number, number>;
  /** The most confident mistakes first, one per example. */
  readonly mistakes: readonly Mistake[];
}

/** How the first output and its label are decoded. */
export interface AnswerReading {
  readonly classes: number;
  /** Answers per example. */
  readonly positions: number;
  /** Values of a label: its number, or one per class. */
  readonly width: number;
  /** One value per answer: the probability of the second of two classes. */
  readonly binary: boolean;
}

/** Returns how to decode the answers; null if they are no classes. */
export function readingOf({ outputs, labels }: Bundle): AnswerReading | null {
  const [output, label] = [outputs[0], labels[0]];
  // An output may be compared with an input or a constant; then the first label is that of another one.
  if (output === undefined || label?.name !== output.name) return null;
  const loss = (output.loss ?? "").toLowerCase().replaceAll("_", "");
  const values = elements(output.shape);
  const given = elements(label.shape);
  if (loss.startsWith("binary") && values === 1 && given === 1) {
    return { classes: 2, positions: 1, width: 1, binary: true };
  }
  const classes = output.shape.at(-1) ?? 1;
  if (!loss.includes("categorical") || classes < 2) return null;
  const positions = values / classes;
  const width = given / positions;
  return width === 1 || width === classes ? { classes, positions, width, binary: false } : null;
}

interface ModelAnswer {
  readonly guess: number;
  readonly chance: number;
}

function largest(values: ArrayLike<number>, from: number, until: number): number {
  let best = from;
  for (let i = from + 1; i < until; i++) if ((values[i] as number) > (values[best] as number)) best = i;
  return best;
}

/** Decodes an answer among several classes; values that are no probabilities are taken as logits (softmax). */
function answerAmong(values: Float32Array, from: number, until: number): ModelAnswer {
  const best = largest(values, from, until);
  const top = values[best] as number;
  let [least, sum, exponentials] = [0, 0, 0];
  for (let i = from; i < until; i++) {
    const value = values[i] as number;
    least = Math.min(least, value);
    sum += value;
    exponentials += Math.exp(value - top);
  }
  const chances = least >= 0 && Math.abs(sum - 1) < 1e-3;
  return { guess: best - from, chance: chances ? top : 1 / exponentials };
}

/** Decodes an answer between two classes. */
function answerOf(value: number, chances: boolean): ModelAnswer {
  const second = chances ? value : 1 / (1 + Math.exp(-value));
  return second > 0.5 ? { guess: 1, chance: second } : { guess: 0, chance: 1 - second };
}

/** Collects a version's answers. */
export class ModelAnswers {
  examples = 0;
  answers = 0;
  right = 0;
  readonly #confusion = new Map<number, number>();
  #mistakes: Mistake[] = [];

  /** Keeps this number of mistakes. */
  constructor(
    private readonly reading: AnswerReading,
    private readonly limit: number,
  ) {}

  /**
   * Adds the outputs and labels of the first `count` examples of a batch; `x` returns the stored values of an
   * example, and is called only for those that are kept.
   */
  add(
    outputs: Float32Array,
    labels: ArrayLike<number>,
    count: number,
    x: (row: number) => readonly Values[],
  ): void {
    const { classes, positions, binary } = this.reading;
    const size = binary ? 1 : classes;
    const chances = binary && outputs.every((value) => value >= 0 && value <= 1);
    for (let row = 0; row < count; row++) {
      let surest: Omit<Mistake, "x"> | null = null;
      for (let position = 0; position < positions; position++) {
        const number = row * positions + position;
        const truth = this.#truth(labels, number);
        if (truth === null) continue;
        const from = number * size;
        const answer = binary
          ? answerOf(outputs[from] as number, chances)
          : answerAmong(outputs, from, from + size);
        this.#count(truth, answer.guess);
        if (answer.guess !== truth && answer.chance > (surest?.chance ?? 0))
          surest = { ...answer, truth, position };
      }
      this.examples += 1;
      if (surest !== null) this.#keep(surest, () => x(row));
    }
  }

  /** Returns the findings; `shapes` are those of the inputs. */
  findings(about: ExaminedExamples, shapes: MistakeFindings["shapes"]): MistakeFindings {
    const { examples, answers, right } = this;
    const { classes } = this.reading;
    const [confusion, mistakes] = [this.#confusion, this.#mistakes];
    return { about, examples, answers, right, classes, shapes, confusion, mistakes };
  }

  /** Returns the true class; null for a label that is no class, such as padding of a sequence. */
  #truth(labels: ArrayLike<number>, number: number): number | null {
    const { width, classes } = this.reading;
    const from = number * width;
    const truth = width === 1 ? (labels[from] as number) : largest(labels, from, from + width) - from;
    return Number.isInteger(truth) && truth >= 0 && truth < classes ? truth : null;
  }

  #count(truth: number, guess: number): void {
    const key = truth * this.reading.classes + guess;
    this.#confusion.set(key, (this.#confusion.get(key) ?? 0) + 1);
    this.answers += 1;
    if (truth === guess) this.right += 1;
  }

  #keep(mistake: Omit<Mistake, "x">, x: () => readonly Values[]): void {
    const full = this.#mistakes.length >= this.limit;
    if (full && mistake.chance <= (this.#mistakes.at(-1)?.chance ?? 0)) return;
    const place = this.#mistakes.findIndex(({ chance }) => chance < mistake.chance);
    this.#mistakes.splice(place < 0 ? this.#mistakes.length : place, 0, { ...mistake, x: x() });
    this.#mistakes = this.#mistakes.slice(0, this.limit);
  }
}
