/** Reads a training step from a safetensors file, as converter/step_file.py writes it. */

import { later } from "../user-messages";

export type StepArrays = ReadonlyMap<string, Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer>>;

interface StepEntry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

const HEAD = 8;

/** Returns the arrays by their names. Throws an Error for people on anything else. */
export function readStep(file: ArrayBuffer): StepArrays {
  try {
    const length = Number(new DataView(file).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, HEAD, length)));
    const values = HEAD + length;
    return new Map(
      Object.entries(header as Record<string, StepEntry>).map(([name, entry]) => [
        name,
        read(file, values, entry),
      ]),
    );
  } catch {
    throw new Error(later("The step to compare with is damaged; take the dry run on the server again."));
  }
}

function read(file: ArrayBuffer, values: number, { dtype, shape, data_offsets: [begin, end] }: StepEntry) {
  const count = shape.reduce((product, length) => product * length, 1);
  if (end - begin !== 4 * count || (dtype !== "F32" && dtype !== "I32")) throw new RangeError(dtype);
  return dtype === "I32"
    ? new Int32Array(file, values + begin, count)
    : new Float32Array(file, values + begin, count);
}

/** Returns the array of that name. Throws an Error for people if it is missing, or of another type. */
export function floats(step: StepArrays, name: string): Float32Array<ArrayBuffer> {
  const value = step.get(name);
  if (value instanceof Float32Array) return value;
  throw new Error(
    later("The step to compare with is not of this model; take the dry run on the server again."),
  );
}

/** Returns the L2 distance of `actual` from `expected` over the norm of `expected`; NaN if any value is NaN. */
export function relativeError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Number.NaN;
  let distance = 0;
  let norm = 0;
  for (let i = 0; i < expected.length; i++) {
    const value = expected[i] as number;
    distance += ((actual[i] as number) - value) ** 2;
    norm += value ** 2;
  }
  return Math.sqrt(distance) / Math.max(Math.sqrt(norm), LEAST_NORM);
}

/** A gradient with a smaller norm is only rounding error. */
const LEAST_NORM = 1e-6;
