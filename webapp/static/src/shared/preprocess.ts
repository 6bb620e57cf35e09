/** Declared preprocessing and the filling of batches; raw shard values become what the graph takes. */

import type { Bundle, Dtype } from "./bundle";
import type { NumericArray, Values } from "./shard";

export interface Batch {
  readonly x: Float32Array | Int32Array;
  readonly y: Float32Array | Int32Array;
  /** 1 for an example, 0 for padding. */
  readonly sampleWeight: Float32Array;
  readonly examples: number;
}

/** A table of examples: for each, `width` raw values in `values`. */
interface Column {
  readonly values: Values;
  readonly width: number;
}

/** Multiplies raw values by the task's `scale`, in float32 as TensorFlow does. */
export function preprocess(
  raw: ArrayLike<number>,
  steps: Bundle["preprocess"],
  dtype: Dtype,
): Float32Array | Int32Array {
  if (dtype === "int32") return Int32Array.from(raw);
  const scale = Math.fround(steps.scale ?? 1);
  return Float32Array.from(raw, (value) => Math.fround(value) * scale);
}

function elements(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

/** Joins the arrays of several shards along the examples; each example must have `shape`. */
export function joinColumns(name: string, arrays: readonly NumericArray[], shape: readonly number[]): Column {
  const width = elements(shape);
  for (const array of arrays) {
    if (array.shape.slice(1).join() !== shape.join()) {
      throw new Error(`The shard's ${name} has shape [${array.shape.slice(1)}], the model takes [${shape}].`);
    }
  }
  const [first] = arrays;
  if (first === undefined) throw new Error("The plan names no data shard.");
  if (arrays.length === 1) return { values: first.values, width };
  const total = arrays.reduce((sum, array) => sum + array.values.length, 0);
  const values = new (first.values.constructor as new (length: number) => Values)(total);
  let offset = 0;
  for (const array of arrays) {
    if (array.values.constructor !== values.constructor) {
      throw new Error(`The shards' ${name} have different dtypes; build them again with one.`);
    }
    values.set(array.values, offset);
    offset += array.values.length;
  }
  return { values, width };
}

function fill(target: Float32Array | Int32Array, column: Column, rows: Uint32Array): void {
  rows.forEach((row, i) => {
    target.set(column.values.subarray(row * column.width, (row + 1) * column.width), i * column.width);
  });
}

/** The batch of examples `rows`, padded with zeros of weight 0 to the bundle's batch size. */
export function makeBatch(bundle: Bundle, x: Column, y: Column, rows: Uint32Array): Batch {
  const size = bundle.batch_size;
  const inputs = new (bundle.input.dtype === "int32" ? Int32Array : Float32Array)(size * x.width);
  fill(inputs, x, rows);
  const scaled = preprocess(inputs, bundle.preprocess, bundle.input.dtype);
  const labels = new (bundle.label.dtype === "int32" ? Int32Array : Float32Array)(size * y.width);
  fill(labels, y, rows);
  const sampleWeight = new Float32Array(size).fill(1, 0, rows.length);
  return { x: scaled, y: labels, sampleWeight, examples: rows.length };
}
