/** Reads NumPy arrays (.npz), examples first. */

import { type ExampleColumn, pickRows } from "../../core/data/examples";
import type { NumericArray } from "../../core/data/shard";
import type { OwnFile } from "../../core/messages/data-reader";
import { emptyColumn, examplesOf } from "../../core/preprocessing/columns";
import { DataProblem } from "../../core/preprocessing/data-problem";
import type { ArraySpec, DataSpec, StoredSpec } from "../../core/preprocessing/declaration";
import { splitShuffled } from "../../core/preprocessing/example-order";
import { readNpy } from "../../core/preprocessing/files/npy";
import { tooLarge, unzip } from "../../core/preprocessing/files/zip";
import { type FilledMessage, later, laterPlural } from "../../core/user-messages";
import { FILE_LEFT_OUT, type Problems, type ReadExamples, type ReadResult } from "./result";

/** A file's arrays are in memory twice while they are read. */
const MOST_BYTES = 512 * 2 ** 20;

/** Reads the arrays of all files, in their order. */
export async function readArrays(
  rule: ArraySpec,
  { holdout }: DataSpec["volunteer"],
  files: readonly OwnFile[],
  problems: Problems,
  reading: ReadResult,
): Promise<ReadExamples> {
  const read: NumericArray[][] = [];
  for (const [i, { path, file }] of files.entries()) {
    const arrays = await problems.guard(path, FILE_LEFT_OUT, () => readFile(rule, file));
    if (arrays !== null) read.push(arrays);
    reading(i + 1);
  }
  const count = read.reduce((sum, [first]) => sum + (first?.shape[0] ?? 0), 0);
  const columns = [...rule.inputs, ...rule.labels].map((spec, i) =>
    joined(
      spec,
      read.map((arrays) => arrays[i]),
    ),
  );
  const all = examplesOf(count, columns.slice(0, rule.inputs.length), columns.slice(rule.inputs.length));
  const arrays = [...rule.x, ...rule.y].map((name, i) => ({
    name,
    what: inWords(columns[i] as ExampleColumn, count),
  }));
  return {
    count,
    split: splitShuffled(count, holdout),
    classes: null,
    preview: { kind: "array", arrays },
    take: async (numbers) => pickRows(all, numbers),
  };
}

async function readFile(rule: ArraySpec, file: File): Promise<NumericArray[]> {
  const names = [...rule.x, ...rule.y];
  if (file.size > MOST_BYTES) throw tooLarge(file.size, MOST_BYTES);
  const packed = await unzip(
    new Uint8Array(await file.arrayBuffer()),
    names.map((name) => `${name}.npy`),
    MOST_BYTES,
  );
  const arrays = packed.map((bytes, i) => readNpy(bytes, names[i] as string));
  const [first] = arrays;
  for (const [i, spec] of [...rule.inputs, ...rule.labels].entries()) {
    check(names[i] as string, arrays[i] as NumericArray, spec, first?.shape[0] ?? 0);
  }
  return arrays;
}

function check(name: string, { shape, values }: NumericArray, spec: StoredSpec, examples: number): void {
  if (shape[0] !== examples) {
    throw new DataProblem(
      later("The array '%(name)s' has %(found)s examples where the first array has %(first)s", {
        name,
        found: shape[0] ?? 0,
        first: examples,
      }),
    );
  }
  if (shape.slice(1).join() !== spec.shape.join()) {
    throw new DataProblem(
      later("An example of '%(name)s' has the shape [%(found)s]; the task takes [%(expected)s]", {
        name,
        found: shape.slice(1).join(),
        expected: spec.shape.join(),
      }),
    );
  }
  if (values instanceof Float32Array && spec.dtype !== "float32") {
    throw new DataProblem(
      later("The array '%(name)s' holds fractions; the task takes whole numbers (%(dtype)s)", {
        name,
        dtype: spec.dtype,
      }),
    );
  }
  if (spec.dtype === "uint8" && !values.every((value) => value >= 0 && value <= 255)) {
    throw new DataProblem(later("The array '%(name)s' must hold whole numbers from 0 to 255", { name }));
  }
}

function joined(spec: StoredSpec, arrays: readonly (NumericArray | undefined)[]): ExampleColumn {
  const lengths = arrays.map((array) => array?.shape[0] ?? 0);
  const column = emptyColumn(
    spec,
    lengths.reduce((sum, length) => sum + length, 0),
  );
  let offset = 0;
  for (const array of arrays) {
    if (array === undefined) continue;
    column.values.set(array.values, offset);
    offset += array.values.length;
  }
  return column;
}

function inWords({ values, width }: ExampleColumn, count: number): FilledMessage {
  const whole = !(values instanceof Float32Array);
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const what = whole
    ? laterPlural(
        "%(count)s example of %(width)s whole numbers",
        "%(count)s examples of %(width)s whole numbers",
        count,
        { width },
      )
    : laterPlural(
        "%(count)s example of %(width)s numbers",
        "%(count)s examples of %(width)s numbers",
        count,
        { width },
      );
  if (values.length === 0) return what;
  const [from, to] = [least, most].map((value) => String(Number(value.toPrecision(4)))) as [string, string];
  return later("%(what)s, from %(from)s to %(to)s", { what, from, to });
}
