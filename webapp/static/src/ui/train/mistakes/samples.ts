/** Converts an example for display: a picture, the cells of a row, or a text. Pure. */

import type { Mistake, MistakeFindings } from "../../../core/data/mistakes";
import type { Values } from "../../../core/data/shard";
import { drawSpectrogram } from "../../../core/preprocessing/audio/pixels";
import type { Preprocess } from "../../../core/preprocessing/declaration";
import { type ShownCell, shownRow } from "../../../core/preprocessing/readback";
import { Tokenizer } from "../../../core/preprocessing/text/tokens";

export type Sample =
  | {
      readonly kind: "picture";
      readonly width: number;
      readonly height: number;
      /** RGBA, row by row. */
      readonly pixels: Uint8ClampedArray<ArrayBuffer>;
    }
  | { readonly kind: "row"; readonly cells: readonly ShownCell[] }
  /** `open`: the answer continues the text. */
  | { readonly kind: "text"; readonly text: string; readonly open: boolean }
  | { readonly kind: "nothing" };

/** The number of tokens of a text that are shown before the model's answer. */
const TOKENS = 48;

/** Returns how examples of a task are displayed; `preprocess` is null if the task does not describe its data. */
export function sampler(
  preprocess: Preprocess | null,
): (mistake: Mistake, shapes: MistakeFindings["shapes"]) => Sample {
  if (preprocess?.kind === "table") return ({ x }) => ({ kind: "row", cells: shownRow(preprocess, x) });
  if (preprocess?.kind === "text") {
    const tokenizer = new Tokenizer(preprocess);
    // Windows are shown up to the token before the answer, whole texts from their beginning.
    const textSample = ({ x: [ids], position }: Mistake) =>
      preprocess.label === null
        ? ids?.slice(Math.max(0, position + 1 - TOKENS), position + 1)
        : ids?.filter((id) => id !== 0).slice(0, TOKENS);
    const between = preprocess.tokenizer === "words" ? " " : "";
    return (mistake) => ({
      kind: "text",
      text: Array.from(textSample(mistake) ?? [], (id) => tokenizer.show(id))
        .join(between)
        .trimStart(),
      open: preprocess.label === null,
    });
  }
  if (preprocess?.kind === "audio") {
    return ({ x: [values] }) =>
      values ? { kind: "picture", ...drawSpectrogram(values, preprocess) } : { kind: "nothing" };
  }
  const bytes = preprocess?.kind === "image";
  return ({ x: [values] }, [shape]) => {
    const [height, width, channels] = shape ?? [];
    if (!values || !height || !width || shape?.length !== 3 || (channels !== 1 && channels !== 3))
      return { kind: "nothing" };
    const [low, high] = bytes ? [0, 255] : boundsOf(values);
    return { kind: "picture", width, height, pixels: pixelsOf(values, channels, low, high) };
  };
}

function boundsOf(values: Values): [low: number, high: number] {
  let [low, high] = [0, 0];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return [low, high > low ? high : low + 1];
}

function pixelsOf(
  values: Values,
  channels: 1 | 3,
  low: number,
  high: number,
): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray((4 * values.length) / channels).fill(255);
  const at = (pixel: number, channel: number) =>
    values[pixel * channels + (channels === 1 ? 0 : channel)] ?? 0;
  for (let pixel = 0; 4 * pixel < pixels.length; pixel++) {
    for (let channel = 0; channel < 3; channel++)
      pixels[4 * pixel + channel] = (255 * (at(pixel, channel) - low)) / (high - low);
  }
  return pixels;
}

/** Returns the names of the classes. `labels` are the task's own names, if any. */
export function namesOf(
  preprocess: Preprocess | null,
  labels: readonly string[],
): (number: number) => string {
  if (labels.length > 0) return (number) => labels[number] ?? `${number}`;
  if (preprocess?.kind === "text" && preprocess.label === null) {
    const tokenizer = new Tokenizer(preprocess);
    return (number) => tokenizer.show(number);
  }
  const classes = classesOf(preprocess);
  return (number) => classes[number] ?? `${number}`;
}

function classesOf(preprocess: Preprocess | null): readonly string[] {
  if (preprocess === null || preprocess.kind === "array") return [];
  const label = preprocess.kind === "table" ? preprocess.label[0] : preprocess.label;
  return label?.kind === "class" ? label.classes : [];
}
