/** Reads pictures: decodes and resizes them one after the other. */

import type { OwnFile, Thumbnail } from "../../core/messages/data-reader";
import { DataProblem } from "../../core/preprocessing/data-problem";
import type { DataSpec, ImageSpec } from "../../core/preprocessing/declaration";
import { splitShuffled } from "../../core/preprocessing/example-order";
import { imageValues } from "../../core/preprocessing/images/image";
import type { Pixels } from "../../core/preprocessing/images/pixels";
import { later } from "../../core/user-messages";
import { type LabelledFile, labelByFolder } from "./folders";
import { KeptExamples } from "./kept-examples";
import { countClasses, LEFT_OUT, type Problems, type ReadExamples, type ReadResult } from "./result";

/** Decodes a picture into RGBA, in its display orientation. Throws DataProblem if it is none. */
export type Decode = (file: Blob) => Promise<Pixels>;

const THUMBNAILS = 12;

/** Reads the pictures of all files, in their order. */
export async function readImages(
  rule: ImageSpec,
  { holdout }: DataSpec["volunteer"],
  files: readonly OwnFile[],
  problems: Problems,
  reading: ReadResult,
  decode: Decode,
): Promise<ReadExamples> {
  const pictures = new KeptExamples(rule, async (file) => imageValues(await decode(file), rule));
  const labelled = labelByFolder(files, rule.label, problems);
  for (const [i, one] of labelled.entries()) {
    await problems.guard(one.path, LEFT_OUT, () => pictures.add(one));
    reading(files.length - labelled.length + i + 1);
  }
  const { label } = rule;
  const names = pictures.files.map((one) => one.label);
  return {
    count: pictures.files.length,
    split: splitShuffled(pictures.files.length, holdout),
    classes: label.kind === "class" ? countClasses(label.classes, names) : null,
    preview: { kind: "image", thumbnails: await thumbnails(pictures, rule) },
    take: (numbers) => pictures.take(numbers),
  };
}

/** Returns some pictures of each label as the model sees them. */
async function thumbnails(
  pictures: KeptExamples<Uint8Array>,
  { size, channels }: ImageSpec,
): Promise<Thumbnail[]> {
  const [height, width] = size;
  const shown = interleaveLabels(pictures.files.map(({ label }) => label)).slice(0, THUMBNAILS);
  return Promise.all(
    shown.map(async (number) => {
      const { path, label } = pictures.files[number] as LabelledFile;
      return { path, label, width, height, pixels: rgba(await pictures.values(number), channels) };
    }),
  );
}

/** Returns positions of `labels` in which the labels alternate. */
export function interleaveLabels(labels: readonly string[]): number[] {
  const groups = new Map<string, number[]>();
  for (const [i, label] of labels.entries()) groups.set(label, [...(groups.get(label) ?? []), i]);
  const turns: number[] = [];
  for (let round = 0; turns.length < labels.length; round++) {
    for (const group of groups.values()) if (round < group.length) turns.push(group[round] as number);
  }
  return turns;
}

/** Converts the stored values of a picture to pixels for display. */
export function rgba(values: Uint8Array, channels: number): Uint8ClampedArray<ArrayBuffer> {
  const count = values.length / channels;
  const out = new Uint8ClampedArray(4 * count).fill(255);
  for (let i = 0; i < count; i++) {
    for (let c = 0; c < 3; c++) out[4 * i + c] = values[i * channels + (channels === 3 ? c : 0)] as number;
  }
  return out;
}

/** The limit of peers, too; larger pictures need more memory than devices have. */
const MOST_PIXELS = 64_000_000;

/** Decodes by the browser's own decoder. */
export async function decodeImage(file: Blob): Promise<Pixels> {
  const bitmap = await createImageBitmap(file, {
    colorSpaceConversion: "none",
    premultiplyAlpha: "none",
    imageOrientation: "from-image",
  }).catch(() => {
    throw new DataProblem(
      later(
        "This picture cannot be read: it is damaged, or of a kind this browser does not know (PNG, JPEG and WebP work everywhere)",
      ),
    );
  });
  const { width, height } = bitmap;
  try {
    if (width * height > MOST_PIXELS) {
      throw new DataProblem(
        later(
          "This picture has %(width)s by %(height)s pixels, more than can be read here; make it smaller",
          { width, height },
        ),
      );
    }
    const pen = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    if (pen === null)
      throw new DataProblem(later("This browser has no memory for this picture; close other tabs"));
    pen.drawImage(bitmap, 0, 0);
    return { width, height, channels: 4, values: pen.getImageData(0, 0, width, height).data };
  } finally {
    bitmap.close();
  }
}
