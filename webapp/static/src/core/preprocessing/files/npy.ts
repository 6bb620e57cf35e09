/** Reads one NumPy array (.npy, versions 1 to 3) as values that are stored. */

import type { NumericArray, Values } from "../../data/shard";
import { later } from "../../user-messages";
import { DataProblem } from "../data-problem";

const MAGIC = "\x93NUMPY";
const INT32 = { least: -(2 ** 31), most: 2 ** 31 - 1 };

interface Header {
  readonly descr: string;
  readonly columnsFirst: boolean;
  readonly shape: readonly number[];
  readonly start: number;
}

function damaged(name: string): DataProblem {
  return new DataProblem(
    later("The array '%(name)s' is damaged or of no kind that is read. Write it again with numpy.savez", {
      name,
    }),
  );
}

function readHeader(bytes: Uint8Array<ArrayBuffer>, name: string): Header {
  const text = (from: number, until: number) => String.fromCharCode(...bytes.subarray(from, until));
  if (text(0, 6) !== MAGIC) throw damaged(name);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wide = bytes[6] !== 1;
  const begin = wide ? 12 : 10;
  const start = begin + (wide ? view.getUint32(8, true) : view.getUint16(8, true));
  const header = text(begin, start);
  const descr = /'descr':\s*'([^']*)'/.exec(header)?.[1];
  const order = /'fortran_order':\s*(True|False)/.exec(header)?.[1];
  const shape = /'shape':\s*\(([^)]*)\)/.exec(header)?.[1];
  if (descr === undefined || order === undefined || shape === undefined) throw damaged(name);
  const sizes = shape
    .split(",")
    .filter((size) => size.trim() !== "")
    .map(Number);
  if (!sizes.every((size) => Number.isSafeInteger(size) && size >= 0)) throw damaged(name);
  return { descr, columnsFirst: order === "True", shape: sizes, start };
}

/** Decodes half precision (IEEE 754 binary16). */
function half(bits: number): number {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}

type NpyArray = (view: DataView, at: number) => number;

/** How a value of each dtype is read, and how many bytes it takes. */
const READERS: Readonly<
  Record<string, readonly [bytes: number, kind: "byte" | "whole" | "real", read: NpyArray]>
> = {
  "|b1": [1, "byte", (view, at) => view.getUint8(at)],
  "|u1": [1, "byte", (view, at) => view.getUint8(at)],
  "|i1": [1, "whole", (view, at) => view.getInt8(at)],
  "<i2": [2, "whole", (view, at) => view.getInt16(at, true)],
  "<u2": [2, "whole", (view, at) => view.getUint16(at, true)],
  "<i4": [4, "whole", (view, at) => view.getInt32(at, true)],
  "<u4": [4, "whole", (view, at) => view.getUint32(at, true)],
  "<i8": [8, "whole", (view, at) => Number(view.getBigInt64(at, true))],
  "<u8": [8, "whole", (view, at) => Number(view.getBigUint64(at, true))],
  "<f2": [2, "real", (view, at) => half(view.getUint16(at, true))],
  "<f4": [4, "real", (view, at) => view.getFloat32(at, true)],
  "<f8": [8, "real", (view, at) => view.getFloat64(at, true)],
};
const STORED = { byte: Uint8Array, whole: Int32Array, real: Float32Array } as const;

/** Yields the position in the file of each value in row-major order. */
function* positions(shape: readonly number[], columnsFirst: boolean, count: number): Generator<number> {
  if (!columnsFirst) {
    for (let i = 0; i < count; i++) yield i;
    return;
  }
  const steps = shape.map((_, axis) => shape.slice(0, axis).reduce((product, size) => product * size, 1));
  const at = shape.map(() => 0);
  for (let i = 0; i < count; i++) {
    yield at.reduce((sum, index, axis) => sum + index * (steps[axis] as number), 0);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      at[axis] = (at[axis] as number) + 1;
      if ((at[axis] as number) < (shape[axis] as number)) break;
      at[axis] = 0;
    }
  }
}

/** Reads an array, examples first. Throws DataProblem if it cannot be stored. */
export function readNpy(bytes: Uint8Array<ArrayBuffer>, name: string): NumericArray {
  const { descr, columnsFirst, shape, start } = readHeader(bytes, name);
  const reader = READERS[descr];
  if (reader === undefined) {
    throw new DataProblem(
      later("The array '%(name)s' has the dtype %(dtype)s; convert it to float32, int32 or uint8", {
        name,
        dtype: descr,
      }),
    );
  }
  const [size, kind, read] = reader;
  const count = shape.reduce((product, length) => product * length, 1);
  if (shape.length === 0 || bytes.length - start !== count * size) throw damaged(name);
  const view = new DataView(bytes.buffer, bytes.byteOffset + start);
  const values: Values = new STORED[kind](count);
  let i = 0;
  for (const at of positions(shape, columnsFirst, count)) {
    const value = read(view, at * size);
    if (kind === "whole" && (value < INT32.least || value > INT32.most)) {
      const values = { name, value: String(value) };
      throw new DataProblem(
        later("The array '%(name)s' holds %(value)s, which does not fit into int32", values),
      );
    }
    values[i++] = value;
  }
  return { shape, values };
}
