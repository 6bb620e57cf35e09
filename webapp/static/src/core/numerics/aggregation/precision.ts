/**
 * The encodings of vector parts between peers: float32, float16 or int8, little-endian like every machine that runs
 * browsers. The twin is backend/numerics/precision.py; tests/contract/vectors/averaging.json tests that both compute
 * the same bits. "What is averaged" in docs/reference/mesh.md has the rules.
 */

import type { Bytes } from "../../crypto/bytes";
import { later } from "../../user-messages";
import { fitHalves, readHalves, writeHalves } from "./half";

export type Precision = "float32" | "float16" | "int8";
export type Vector = Float32Array<ArrayBuffer>;

/** Larger values are clamped to this, so that sums of members' values stay far below float32's limit. */
const MAX_VALUE = 2 ** 100;
/** The largest finite float32. */
const MAX_SINGLE = (2 - 2 ** -23) * 2 ** 127;
/** Values processed at a time: whole blocks are whole bytes in each precision, and fit a processor's cache. */
export const BLOCK = 1 << 14;
/** Values that share a scale in int8. */
const SCALED = 1024;
const LEVELS = 127;
const SCALE_BYTES = 4;
const MAX_SCALE = Math.fround(MAX_VALUE / LEVELS);
/** Added to a number and subtracted again, it leaves the nearest whole number, of two the even one. */
const ROUNDING = 1.5 * 2 ** 52;

/** The bytes are no values that `encode` can have written. */
export class UnfitError extends Error {
  override readonly name = "UnfitError";
}

/**
 * The codec of one precision. `write` does not change the values; `fit` says whether all values in the bytes may be
 * averaged.
 */
interface Codec {
  readonly size: (values: number) => number;
  readonly write: (values: Float32Array, data: Bytes) => void;
  readonly read: (data: Bytes, values: Float32Array) => void;
  readonly fit: (data: Bytes, values: number) => boolean;
}

const CODECS: Readonly<Record<Precision, Codec>> = {
  float32: { size: (values) => 4 * values, write: writeSingles, read: readSingles, fit: fitSingles },
  float16: { size: (values) => 2 * values, write: writeHalves, read: readHalves, fit: fitHalves },
  int8: { size: int8Size, write: writeInt8, read: readInt8, fit: fitInt8 },
};

/** Returns the number of bytes that encode this number of values. */
export function encodedSize(values: number, precision: Precision): number {
  return CODECS[precision].size(values);
}

/** Encodes `values`, which are not changed. Throws a RangeError for NaN and infinity. */
export function encode(values: Float32Array, precision: Precision): Bytes {
  if (!within(values, MAX_SINGLE)) {
    throw new RangeError(later("The weights hold NaN or infinity. Lower the learning rate."));
  }
  const data = new Uint8Array(encodedSize(values.length, precision));
  CODECS[precision].write(values, data);
  return data;
}

/** Decodes `values` float32 values from `data`. Throws as `checked` does. */
export function decode(data: Uint8Array, values: number, precision: Precision): Vector {
  const decoded = new Float32Array(values);
  CODECS[precision].read(checked(data, values, precision), decoded);
  return decoded;
}

/**
 * Returns `data`, aligned to words of four bytes, if it encodes `values` values that may be averaged. Throws an
 * UnfitError for another number of bytes, and for what `encode` cannot write.
 */
export function checked(data: Uint8Array, values: number, precision: Precision): Bytes {
  const size = encodedSize(values, precision);
  if (data.length !== size) {
    throw new UnfitError(`${values} values in ${precision} are ${size} bytes, not ${data.length}.`);
  }
  const words = data.buffer instanceof ArrayBuffer && data.byteOffset % 4 === 0;
  const bytes = words ? (data as Bytes) : data.slice();
  if (!CODECS[precision].fit(bytes, values)) {
    throw new UnfitError(`It holds NaN, infinity or a value over ${MAX_VALUE.toPrecision(3)}.`);
  }
  return bytes;
}

/** Decodes values of checked `data` into `out`, beginning at `from`, a multiple of BLOCK. */
export function readBlock(data: Bytes, from: number, precision: Precision, out: Float32Array): void {
  const { size, read } = CODECS[precision];
  read(data.subarray(size(from), size(from + out.length)), out);
}

/** Encodes finite `values` into `data`, beginning at `from`, a multiple of BLOCK. */
export function writeBlock(values: Float32Array, from: number, precision: Precision, data: Bytes): void {
  const { size, write } = CODECS[precision];
  write(values, data.subarray(size(from), size(from + values.length)));
}

/** Whether no value is NaN or exceeds `most`. */
function within(values: Float32Array, maximum: number): boolean {
  for (let i = 0; i < values.length; i++) {
    // A comparison with NaN is false.
    if (!(Math.abs(values[i] as number) <= maximum)) return false;
  }
  return true;
}

function clamp(value: number, maximum: number): number {
  return value > maximum ? maximum : value < -maximum ? -maximum : value;
}

function singles(data: Bytes, values: number): Float32Array {
  return new Float32Array(data.buffer, data.byteOffset, values);
}

function writeSingles(values: Float32Array, data: Bytes): void {
  const out = singles(data, values.length);
  for (let i = 0; i < values.length; i++) out[i] = clamp(values[i] as number, MAX_VALUE);
}

function readSingles(data: Bytes, values: Float32Array): void {
  values.set(singles(data, values.length));
}

function fitSingles(data: Bytes, values: number): boolean {
  return within(singles(data, values), MAX_VALUE);
}

function int8Size(values: number): number {
  return values + SCALE_BYTES * Math.ceil(values / SCALED);
}

function writeInt8(values: Float32Array, data: Bytes): void {
  forScales(data, values.length, (scale, levels, from) => {
    const block = values.subarray(from, from + levels.length);
    const unit = Math.fround(Math.min(largest(block), MAX_VALUE) / LEVELS);
    scale[0] = unit;
    for (let i = 0; i < levels.length; i++) {
      // If a scale is zero, so are all its levels: the values are too small for it.
      const steps = unit === 0 ? 0 : Math.fround((block[i] as number) / unit);
      levels[i] = clamp(steps + ROUNDING - ROUNDING, LEVELS);
    }
  });
}

function readInt8(data: Bytes, values: Float32Array): void {
  forScales(data, values.length, (scale, levels, from) => {
    const unit = scale[0] as number;
    for (let i = 0; i < levels.length; i++) values[from + i] = (levels[i] as number) * unit;
  });
}

function fitInt8(data: Bytes, values: number): boolean {
  let fit = true;
  forScales(data, values, (scale) => {
    const unit = scale[0] as number;
    if (!(unit >= 0 && unit <= MAX_SCALE)) fit = false;
  });
  return fit;
}

function largest(values: Float32Array): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) most = Math.max(most, Math.abs(values[i] as number));
  return most;
}

/**
 * Calls `work` with each scale in the bytes of `values` values, the levels that follow it, and the range of their
 * values.
 */
function forScales(
  data: Bytes,
  values: number,
  work: (scale: Float32Array, levels: Int8Array, from: number) => void,
): void {
  for (let from = 0; from < values; from += SCALED) {
    const at = data.byteOffset + int8Size(from);
    const count = Math.min(SCALED, values - from);
    work(new Float32Array(data.buffer, at, 1), new Int8Array(data.buffer, at + SCALE_BYTES, count), from);
  }
}
