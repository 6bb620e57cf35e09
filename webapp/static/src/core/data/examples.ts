/** The examples of a round, and batches of them, with raw values converted for the graph. */

import { later, UserError } from "../user-messages";
import type { Bundle, Dtype, LabelSpec, PartSpec } from "./bundle";
import type { NumericArray, Shard, Values } from "./shard";

export interface Batch {
  readonly x: readonly (Float32Array | Int32Array)[];
  readonly y: readonly (Float32Array | Int32Array)[];
  /** Weight of an example, 0 for padding. */
  readonly sampleWeight: Float32Array;
  /** Rows with an example: those of a weight above 0. */
  readonly examples: number;
}

/** A table of examples: for each, `width` raw values in `values`. */
export interface ExampleColumn {
  readonly values: Values;
  readonly width: number;
}

/** The examples of all shards of a plan. */
export interface Examples {
  readonly count: number;
  readonly x: readonly ExampleColumn[];
  readonly y: readonly ExampleColumn[];
  readonly sampleWeight: Float32Array;
}

/** Returns one number for each index of the last axis. */
function along(factor: number | readonly number[] | undefined, neutral: number): Float32Array {
  return Float32Array.from(typeof factor === "number" ? [factor] : (factor ?? [neutral]));
}

/**
 * Converts stored values for the graph: stored * scale + offset, each rounded to float32 as TensorFlow does. Whole
 * numbers are not changed. docs/reference/preprocessing.md is the specification.
 */
export function load(
  stored: ArrayLike<number>,
  { scale, offset }: Bundle["preprocess"],
  dtype: Dtype,
): Float32Array | Int32Array {
  if (dtype === "int32") return Int32Array.from(stored);
  const [scales, offsets] = [along(scale, 1), along(offset, 0)];
  const loaded = new Float32Array(stored.length);
  for (let i = 0; i < loaded.length; i++) {
    const scaled = Math.fround(Math.fround(stored[i] as number) * (scales[i % scales.length] as number));
    loaded[i] = scaled + (offsets[i % offsets.length] as number);
  }
  return loaded;
}

/** Returns the examples `rows`, in this order. */
export function pickRows(examples: Examples, rows: Uint32Array): Examples {
  const column = ({ values, width }: ExampleColumn): ExampleColumn => {
    const picked = new (values.constructor as new (length: number) => Values)(rows.length * width);
    rows.forEach((row, i) => {
      picked.set(values.subarray(row * width, (row + 1) * width), i * width);
    });
    return { values: picked, width };
  };
  return {
    count: rows.length,
    x: examples.x.map(column),
    y: examples.y.map(column),
    sampleWeight: Float32Array.from(rows, (row) => examples.sampleWeight[row] as number),
  };
}

/** Returns the number of values in one example's part. */
export function elements(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

/** Joins the shards of a plan. Throws an error for people if they do not fit the bundle. */
export function joinShards(bundle: Bundle, shards: readonly Shard[]): Examples {
  if (shards.length === 0) throw new Error(later("The plan names no data shard."));
  const columns = (part: "x" | "y", specs: readonly PartSpec[]) =>
    specs.map(({ name, shape }, i) => {
      const arrays = shards.map((shard) => shard[part][i]);
      if (arrays.includes(undefined) || shards.some((shard) => shard[part].length !== specs.length)) {
        throw new UserError(
          later("A shard does not have the %(arrays)s arrays %(part)s that the model takes.", {
            arrays: specs.length,
            part,
          }),
        );
      }
      return joinColumns(name, arrays as NumericArray[], shape);
    });
  const y = columns("y", bundle.labels);
  for (const [i, label] of bundle.labels.entries()) checkClasses(label, (y[i] as ExampleColumn).values);
  const weights = shards.map(({ sampleWeight }) => ({ shape: [sampleWeight.length], values: sampleWeight }));
  const { values } = joinColumns("sample weights", weights, []);
  return { count: values.length, x: columns("x", bundle.inputs), y, sampleWeight: values as Float32Array };
}

/** Joins the arrays of several shards along the examples; each example must have `shape`. */
function joinColumns(name: string, arrays: readonly NumericArray[], shape: readonly number[]): ExampleColumn {
  const width = elements(shape);
  for (const array of arrays) {
    if (array.shape.slice(1).join() !== shape.join()) {
      throw new UserError(
        later("The shard's %(name)s has shape [%(found)s], the model takes [%(expected)s].", {
          name,
          found: array.shape.slice(1).join(),
          expected: shape.join(),
        }),
      );
    }
  }
  const first = arrays[0] as NumericArray;
  if (arrays.length === 1) return { values: first.values, width };
  const total = arrays.reduce((sum, array) => sum + array.values.length, 0);
  const values = new (first.values.constructor as new (length: number) => Values)(total);
  let offset = 0;
  for (const array of arrays) {
    if (array.values.constructor !== values.constructor) {
      throw new UserError(
        later("The shards' %(name)s have different dtypes; build them again with one.", { name }),
      );
    }
    values.set(array.values, offset);
    offset += array.values.length;
  }
  return { values, width };
}

function checkClasses({ name, classes }: LabelSpec, values: Values): void {
  if (classes === undefined || classes === null) return;
  for (const value of values) {
    if (value >= 0 && value < classes) continue;
    throw new UserError(
      later("The label %(name)s of a data shard has the class %(value)s; the model knows 0 to %(last)s.", {
        name,
        value,
        last: classes - 1,
      }),
    );
  }
}

function fill(dtype: Dtype, column: ExampleColumn, rows: Uint32Array): Float32Array | Int32Array {
  const target = new (dtype === "int32" ? Int32Array : Float32Array)(rows.length * column.width);
  rows.forEach((row, i) => {
    target.set(column.values.subarray(row * column.width, (row + 1) * column.width), i * column.width);
  });
  return target;
}

/**
 * Makes the batch of examples `rows`, padded to the bundle's batch size with the first of them at weight 0. Padding
 * repeats a real example, because an artificial one could give NaN, such as the mean over the words of an empty text,
 * and NaN stays NaN at weight 0.
 */
export function makeBatch(bundle: Bundle, examples: Examples, rows: Uint32Array): Batch {
  const size = bundle.batch_size;
  const filled = Uint32Array.from({ length: size }, (_, i) => rows[i] ?? (rows[0] as number));
  const columns = (specs: readonly PartSpec[], parts: readonly ExampleColumn[]) =>
    specs.map(({ dtype }, i) => fill(dtype, parts[i] as ExampleColumn, filled));
  const x = columns(bundle.inputs, examples.x).map((values, i) =>
    load(values, bundle.preprocess, (bundle.inputs[i] as PartSpec).dtype),
  );
  const sampleWeight = new Float32Array(size);
  rows.forEach((row, i) => {
    sampleWeight[i] = examples.sampleWeight[row] as number;
  });
  const existing = sampleWeight.reduce((count, weight) => count + (weight > 0 ? 1 : 0), 0);
  return { x, y: columns(bundle.labels, examples.y), sampleWeight, examples: existing };
}
