import { counted, number, percent } from "../formatting";

const KINDS: Readonly<Record<string, readonly [string, string]>> = {
  image: ["picture", "pictures"],
  table: ["row", "rows"],
  text: ["text", "texts"],
  array: ["example", "examples"],
};

const shape = (lengths: readonly number[]) => lengths.join(" × ") || "a single number";

/** The wizard's step `preprocess`. */
export const say = {
  noData: "Bring data first: then it is said here what was found in them.",
  looking: "The data are being looked at.",
  found: (kind: string, examples: number, classes: number) =>
    `${counted(examples, ...(KINDS[kind] ?? ["example", "examples"]))}${
      classes > 0 ? `, in ${counted(classes, "class", "classes")}` : ""
    }.`,
  share: (count: number, all: number) => `${number(count)} (${percent(count / all)})`,
  imbalance: (most: string, least: string, times: number) =>
    `Strong imbalance: “${most}” has ${number(times)} times the examples of “${least}”. A model learns to guess the frequent class; bring more of the rare one, or weigh classes by class_weight.`,
  sizes: (least: string, most: string) =>
    `The pictures are of unlike sizes, from ${least} to ${most} pixels; all are brought to one.`,
  missing: (columns: readonly string[]) => `Empty cells in: ${columns.join(", ")}.`,
  takes: (lengths: readonly number[]) => `The model takes ${shape(lengths)} for each example.`,
  column: {
    number: "a number to learn from",
    category: "a category to learn from",
    class: "to predict: a class",
    target: "to predict: a number",
    ignore: "not used",
  },
  role: (column: string) => `What ${column} is for`,
  empty: (column: string) => `Where ${column} is empty`,
  when: {
    error: "the row is left out",
    mean: "the mean stands in",
    median: "the median stands in",
    none: "no category",
    own: "a category of its own",
  },
  numbers: (least: number, mean: number, most: number, missing: number) =>
    `${short(least)} to ${short(most)}, mean ${short(mean)}${missing > 0 ? `; ${number(missing)} empty` : ""}`,
  values: (values: readonly string[], different: number, missing: number) =>
    `${values.join(", ")}${different > values.length ? ", …" : ""}${missing > 0 ? `; ${number(missing)} empty` : ""}`,
  showing: "Preparing some examples.",
  shown: "These are some of the examples, as the file has them and as the model gets them.",
  goesIn: (inputs: readonly (readonly number[])[], spread: readonly [number, number, number] | null) =>
    `The model gets ${inputs.map(shape).join(" and ")} numbers${
      spread ? `, from ${short(spread[0])} to ${short(spread[2])} here, ${short(spread[1])} in the mean` : ""
    }.`,
  label: (text: string) => `To be learnt from it: ${text}`,
  before: (label: string, width: number, height: number) => `${label}, as it is: ${width} × ${height} pixels`,
  after: (label: string) => `${label}, as the model sees it`,
  outdated: "Something that they depend on was changed: the data have to be cut again.",
  waitsForModel: "This begins by itself once the model is converted.",
  notCut: "The data are not cut yet.",
  cut: "Cut the data",
  again: "Cut again",
  lost: "The connection is lost; this goes on by itself once it is back.",
  fields: {
    height: "Height in pixels",
    width: "Width in pixels",
    channels: "Colours",
    fit: "Pictures of another shape are",
    resize: "Resized by",
    scale: "Every number is multiplied by",
    encoding: "Classes are written as",
    tokenizer: "Texts are cut into",
    length: "Tokens of an example",
    lower: "Capital letters become small ones",
    unknown: "Tokens that are not in the vocabulary",
    vocabulary: "Most frequent tokens that are kept",
    stride: "Tokens between the beginnings of two examples",
    x: "What goes in",
    y: "What is to be learnt",
  },
  effects: {
    size: "Larger pictures show more, and cost more time and bytes. It has to be what the model takes.",
    channels: "Gray has a third of the bytes; take it where colour says nothing.",
    fit: "Cut: the middle is kept. Filled: all is kept, with a border. Stretched: all is kept, out of proportion.",
    resize: "Bilinear is right for most; area keeps fine patterns when pictures become much smaller.",
    scale: "Models learn best from numbers about as large as 1: 0.00392 is 1 / 255, for pictures.",
    encoding: "It has to be what the model's output takes; the preview says so where it is not.",
    tokenizer:
      "Characters and bytes need no vocabulary to speak of; words are fewer, and unknown ones get lost.",
    length: "Longer ones show the model more at once, and cost more. It has to be what the model takes.",
    lower: "Fewer different tokens, and nothing learnt about capitals.",
    unknown: "What happens to what is not in the vocabulary.",
    stride:
      "As long as an example by default: each token is in one. Shorter gives more examples that overlap.",
    arrays: "Names of the arrays in the file.",
  },
  options: {
    "1": "gray",
    "3": "red, green and blue",
    cover: "cut to it",
    contain: "filled up to it",
    stretch: "stretched to it",
    nearest: "nearest pixel",
    bilinear: "bilinear",
    bicubic: "bicubic",
    area: "area",
    index: "numbers from 0",
    "one-hot": "one-hot",
    number: "0 or 1",
    characters: "characters",
    bytes: "bytes",
    words: "words",
    pairs: "pairs of bytes that are frequent",
    error: "leave the text out",
    own: "become one token",
    drop: "are left out",
  },
};

function short(value: number): string {
  return `${Number(value.toPrecision(3))}`;
}
