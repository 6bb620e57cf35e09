/** Files as a volunteer chooses them, read as the reader does. */

import type { Examples } from "../../../../../webapp/static/src/core/data/examples";
import type { DataSpec, Preprocess } from "../../../../../webapp/static/src/core/preprocessing/declaration";
import type { Pixels } from "../../../../../webapp/static/src/core/preprocessing/images/pixels";
import { type FilledMessage, inEnglish } from "../../../../../webapp/static/src/core/user-messages";
import { readFiles } from "../../../../../webapp/static/src/workers/data-reader/files";
import {
  Problems,
  type ReadExamples,
  reportOf,
} from "../../../../../webapp/static/src/workers/data-reader/result";
import type { Golden } from "./vectors";

export type Content = string | Uint8Array<ArrayBuffer>;

const VOLUNTEER = { minimum: 1, maximum: 1000, holdout: 0 };

/** Reads `files`, a map from paths to contents. */
export async function read(
  preprocess: Preprocess,
  files: Readonly<Record<string, Content>>,
  volunteer: Partial<DataSpec["volunteer"]> = {},
  decode: (file: Blob) => Promise<Pixels> = () => Promise.reject(new Error("No pictures here.")),
) {
  const spec = { preprocess, volunteer: { ...VOLUNTEER, ...volunteer } };
  const own = Object.entries(files).map(([path, content]) => ({
    path,
    file: new File([content], path.split("/").pop() ?? path),
  }));
  const problems = new Problems();
  const understood = await readFiles(spec, own, problems, () => undefined, decode);
  return { understood, report: english(reportOf(understood, problems, spec)) };
}

/** A value with its messages in English. */
type English<T> = T extends FilledMessage
  ? string
  : T extends ArrayBufferView
    ? T
    : T extends object
      ? { readonly [K in keyof T]: English<T[K]> }
      : T;

/** A report as it arrives on a page, in English. */
function english<T>(sent: T): English<T> {
  const translated = (value: unknown): unknown => {
    if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
    if (Array.isArray(value)) return value.map(translated);
    if ("english" in value) return inEnglish(value as FilledMessage);
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, translated(part)]));
  };
  return translated(structuredClone(sent)) as English<T>;
}

/** All examples, in their order. */
export function all(understood: ReadExamples): Promise<Examples> {
  return understood.take(Uint32Array.from({ length: understood.count }, (_, i) => i));
}

/** A column as a golden file holds it. */
export function golden(examples: Examples, part: "x" | "y", wanted: readonly Golden[]): readonly Golden[] {
  return examples[part].map(({ values }, i) => ({
    shape: [examples.count, ...(wanted[i]?.shape.slice(1) ?? [])],
    dtype: values instanceof Uint8Array ? "uint8" : values instanceof Int32Array ? "int32" : "float32",
    values: Array.from(values),
  }));
}
