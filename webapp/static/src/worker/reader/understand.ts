/** Files of any kind by the task's declaration. */

import type { DataSpec } from "../../shared/preprocess/declaration";
import { byCodePoints } from "../../shared/preprocess/order";
import type { OwnFile } from "../../shared/reader-messages";
import { readArrays } from "./arrays";
import { type Decode, readImages } from "./images";
import { readTables } from "./tables";
import { readTexts } from "./texts";
import type { Problems, Reading, Understood } from "./understood";

/** Reads the files in the order of their paths, which numbers the examples. */
export function understand(
  { preprocess, volunteer }: DataSpec,
  files: readonly OwnFile[],
  problems: Problems,
  reading: Reading,
  decode: Decode,
): Promise<Understood> {
  const ordered = [...files].sort((a, b) => byCodePoints(a.path, b.path));
  switch (preprocess.kind) {
    case "image":
      return readImages(preprocess, volunteer, ordered, problems, reading, decode);
    case "table":
      return readTables(preprocess, volunteer, ordered, problems, reading);
    case "text":
      return readTexts(preprocess, volunteer, ordered, problems, reading);
    case "array":
      return readArrays(preprocess, volunteer, ordered, problems, reading);
  }
}
