/** Decodes data shards: msgpack maps of two arrays; docs/reference/bundle.md is the specification. */

import { unpack } from "../../protocol/wire/msgpack";
import type { Bundle } from "./bundle";

export type Values = Uint8Array | Int32Array | Float32Array;

export interface NumericArray {
  /** The first dimension counts examples. */
  readonly shape: readonly number[];
  readonly values: Values;
}

export interface Shard {
  readonly examples: number;
  /** An array for each input of the bundle. */
  readonly x: readonly NumericArray[];
  /** An array for each label of the bundle. */
  readonly y: readonly NumericArray[];
  readonly sampleWeight: Float32Array;
}

const FORMAT = "minga-shard/2";
/** Bytes of a shard around its values: names, shapes and lengths of its arrays. */
const FRAME = 64 * 1024;
const READERS: Readonly<Record<string, { bytes: number; read: (buffer: ArrayBuffer) => Values }>> = {
  uint8: { bytes: 1, read: (buffer) => new Uint8Array(buffer) },
  int32: { bytes: 4, read: (buffer) => new Int32Array(buffer) },
  float32: { bytes: 4, read: (buffer) => new Float32Array(buffer) },
};

/** Returns how many values all inputs and labels of an example have. */
export function exampleValues({ inputs, labels }: Pick<Bundle, "inputs" | "labels">): number {
  return [...inputs, ...labels].reduce((sum, { shape }) => sum + shape.reduce((n, size) => n * size, 1), 0);
}

/** Returns the most bytes that a shard has, of examples of so many values: none takes more than four, nor a weight. */
export function largestShard(examples: number, values: number): number {
  return 4 * examples * (values + 1) + FRAME;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isShape(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

function damaged(reason: string): Error {
  return new Error(
    `The data shard is damaged: ${reason}. Reload the page; if it happens again, tell the task's owner.`,
  );
}

function decodeArray(name: string, value: unknown, examples: number): NumericArray {
  if (!isRecord(value) || typeof value.dtype !== "string" || !isShape(value.shape)) {
    throw damaged(`${name} has no dtype or shape`);
  }
  const reader = READERS[value.dtype];
  if (reader === undefined || !(value.data instanceof Uint8Array))
    throw damaged(`${name} has no known dtype`);
  const size = value.shape.reduce((product, length) => product * length, 1);
  if (value.shape[0] !== examples || value.data.byteLength !== size * reader.bytes) {
    throw damaged(`${name} does not have the length that its shape says`);
  }
  // The values are copied, because views of 4-byte numbers need aligned offsets.
  return { shape: value.shape, values: reader.read(value.data.slice().buffer) };
}

function decodeArrays(name: string, value: unknown, examples: number): NumericArray[] {
  if (!Array.isArray(value)) throw damaged(`${name} is not a list`);
  return value.map((array, i) => decodeArray(`${name}[${i}]`, array, examples));
}

function decodeWeights(value: unknown, examples: number): Float32Array {
  // Python writes null if there are no weights.
  if (value === undefined || value === null) return new Float32Array(examples).fill(1);
  const { values, shape } = decodeArray("sample_weight", value, examples);
  const weights = Float32Array.from(values);
  if (shape.length !== 1 || !weights.every((weight) => weight >= 0 && weight < Number.POSITIVE_INFINITY)) {
    throw damaged("its sample weights are not positive numbers");
  }
  return weights;
}

/** Decodes a shard. Throws an error for people on anything else. */
export function decodeShard(bytes: Uint8Array): Shard {
  let map: unknown;
  try {
    map = unpack(bytes);
  } catch {
    throw damaged("it is not msgpack");
  }
  if (!isRecord(map) || map.format !== FORMAT) throw damaged(`it is not of format ${FORMAT}`);
  const { examples } = map;
  if (typeof examples !== "number" || !Number.isSafeInteger(examples) || examples < 0) {
    throw damaged("its number of examples is missing");
  }
  // Only arrays without values could claim so many examples, whose weights would fill the memory.
  if (examples > bytes.length) throw damaged("it counts more examples than it has bytes");
  return {
    examples,
    x: decodeArrays("x", map.x, examples),
    y: decodeArrays("y", map.y, examples),
    sampleWeight: decodeWeights(map.sample_weight, examples),
  };
}
