/** Reads recordings (WAV) as log spectrograms, one after the other. */

import type { OwnFile, Thumbnail } from "../../core/messages/data-reader";
import { drawSpectrogram } from "../../core/preprocessing/audio/pixels";
import { audioValues } from "../../core/preprocessing/audio/spectrogram";
import { openWav } from "../../core/preprocessing/audio/wav";
import type { AudioSpec, DataSpec } from "../../core/preprocessing/declaration";
import { splitShuffled } from "../../core/preprocessing/example-order";
import { tooLarge } from "../../core/preprocessing/files/zip";
import { type LabelledFile, labelByFolder } from "./folders";
import { interleaveLabels } from "./images";
import { KeptExamples } from "./kept-examples";
import { countClasses, LEFT_OUT, type Problems, type ReadExamples, type ReadResult } from "./result";

/** A file is in memory while its spectrogram is computed. */
const MOST_BYTES = 256 * 2 ** 20;
const THUMBNAILS = 12;

/** Reads the recordings of all files, in their order. */
export async function readRecordings(
  rule: AudioSpec,
  { holdout }: DataSpec["volunteer"],
  files: readonly OwnFile[],
  problems: Problems,
  reading: ReadResult,
): Promise<ReadExamples> {
  const recordings = new KeptExamples(rule, (file) => readRecording(file, rule));
  const labelled = labelByFolder(files, rule.label, problems);
  for (const [i, one] of labelled.entries()) {
    await problems.guard(one.path, LEFT_OUT, () => recordings.add(one));
    reading(files.length - labelled.length + i + 1);
  }
  const { label } = rule;
  const names = recordings.files.map((one) => one.label);
  return {
    count: recordings.files.length,
    split: splitShuffled(recordings.files.length, holdout),
    classes: label.kind === "class" ? countClasses(label.classes, names) : null,
    preview: { kind: "audio", thumbnails: await thumbnails(recordings, rule) },
    take: (numbers) => recordings.take(numbers),
  };
}

async function readRecording(file: File, rule: AudioSpec): Promise<Float32Array> {
  if (file.size > MOST_BYTES) throw tooLarge(file.size, MOST_BYTES);
  return audioValues(openWav(new Uint8Array(await file.arrayBuffer())), rule);
}

/** Returns some spectrograms of each label as the model sees them. */
async function thumbnails(recordings: KeptExamples<Float32Array>, rule: AudioSpec): Promise<Thumbnail[]> {
  const shown = interleaveLabels(recordings.files.map(({ label }) => label)).slice(0, THUMBNAILS);
  return Promise.all(
    shown.map(async (number) => {
      const { path, label } = recordings.files[number] as LabelledFile;
      return { path, label, ...drawSpectrogram(await recordings.values(number), rule) };
    }),
  );
}
