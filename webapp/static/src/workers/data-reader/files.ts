/** Reads files of any kind by the task's declaration. */

import type { OwnFile } from "../../core/messages/data-reader";
import type { DataSpec } from "../../core/preprocessing/declaration";
import { byCodePoints } from "../../core/preprocessing/example-order";
import { members, tooLarge } from "../../core/preprocessing/files/zip";
import { readArrays } from "./arrays";
import { type Decode, readImages } from "./images";
import { readRecordings } from "./recordings";
import { LEFT_OUT, type Problems, type ReadExamples, type ReadResult } from "./result";
import { readTables } from "./tables";
import { readTexts } from "./texts";

/** The most unpacked bytes of a zip that a browser holds in memory. */
const MOST_BYTES = 512 * 2 ** 20;
/** The file names that peers read from a folder or zip, too. */
const TAKEN = {
  image: /\.(jpe?g|png|webp|gif|bmp)$/i,
  text: /\.(txt|md)$/i,
  // Those that are not WAV are reported.
  audio: /\.(wave?|mp3|m4a|aac|ogg|opus|flac|wma|aiff?|webm|amr)$/i,
};
const HIDDEN = /(^|\/)(\.|__MACOSX(\/|$))/;

/** Replaces zips of pictures, texts or recordings by the files in them. */
async function opened(
  kind: DataSpec["preprocess"]["kind"],
  files: readonly OwnFile[],
  problems: Problems,
): Promise<OwnFile[]> {
  if (kind !== "image" && kind !== "text" && kind !== "audio") return [...files];
  const unpacked = files.map(async ({ path, file }) => {
    if (!/\.zip$/i.test(path)) return [{ path, file }];
    return (await problems.guard(path, LEFT_OUT, () => inside(file, TAKEN[kind]))) ?? [];
  });
  return (await Promise.all(unpacked)).flat();
}

async function inside(zip: File, taken: RegExp): Promise<OwnFile[]> {
  if (zip.size > MOST_BYTES) throw tooLarge(zip.size, MOST_BYTES);
  const all = members(new Uint8Array(await zip.arrayBuffer()), MOST_BYTES);
  const readable = all.filter(({ name }) => taken.test(name) && !HIDDEN.test(name));
  const files: OwnFile[] = [];
  for (const { name, bytes } of readable) files.push({ path: name, file: new File([await bytes()], name) });
  return files;
}

/** Reads the files in the order of their paths, which numbers the examples. */
export async function readFiles(
  { preprocess, volunteer }: DataSpec,
  files: readonly OwnFile[],
  problems: Problems,
  reading: ReadResult,
  decode: Decode,
): Promise<ReadExamples> {
  const ordered = (await opened(preprocess.kind, files, problems)).sort((a, b) =>
    byCodePoints(a.path, b.path),
  );
  switch (preprocess.kind) {
    case "image":
      return readImages(preprocess, volunteer, ordered, problems, reading, decode);
    case "audio":
      return readRecordings(preprocess, volunteer, ordered, problems, reading);
    case "table":
      return readTables(preprocess, volunteer, ordered, problems, reading);
    case "text":
      return readTexts(preprocess, volunteer, ordered, problems, reading);
    case "array":
      return readArrays(preprocess, volunteer, ordered, problems, reading);
  }
}
