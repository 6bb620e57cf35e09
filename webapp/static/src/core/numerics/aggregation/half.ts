/** Converts between float16 (IEEE 754 binary16) and float32 by their bits: not all browsers have such arrays. */

const SIGN = 0x8000;
/** The bits of the exponent, all set for NaN and infinity. */
const EXPONENT = 0x7c00;
/** The largest finite value, 65504. */
const MOST_BITS = 0x7bff;
/** Bits of float32: of 65504, and of the smallest normal float16, 2^-14. */
const MOST_SINGLE_BITS = 0x477fe000;
const NORMAL_SINGLE_BITS = 0x38800000;
/** The difference of the exponents' biases, at float32's position. */
const REBIAS = (127 - 15) << 23;
/** Bits of float32's fraction that float16 lacks. */
const SURPLUS = 13;
/** The distance of float16 values below 2^-14. */
const SMALLEST = 2 ** -24;
/** Added to a number and subtracted again, it leaves the nearest whole number, of two the even one. */
const ROUNDING = 1.5 * 2 ** 52;

/** Writes finite `values` as float16, to nearest with ties to even; larger values become the largest. */
export function writeHalves(values: Float32Array, data: Uint8Array<ArrayBuffer>): void {
  const out = new Uint16Array(data.buffer, data.byteOffset, values.length);
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < bits.length; i++) {
    const single = bits[i] as number;
    const size = single & 0x7fffffff;
    const sign = (single >>> 16) & SIGN;
    if (size >= MOST_SINGLE_BITS) out[i] = sign | MOST_BITS;
    else if (size >= NORMAL_SINGLE_BITS) out[i] = sign | roundBits(size);
    else out[i] = sign | (Math.abs(values[i] as number) / SMALLEST + ROUNDING - ROUNDING);
  }
}

/** Rounds the bits of a magnitude. A carry out of the fraction goes into the exponent, which is correct. */
function roundBits(size: number): number {
  const odd = (size >>> SURPLUS) & 1;
  return (size - REBIAS + (1 << (SURPLUS - 1)) - 1 + odd) >>> SURPLUS;
}

export function readHalves(data: Uint8Array<ArrayBuffer>, values: Float32Array): void {
  table ??= Float32Array.from({ length: 1 << 16 }, (_, word) => half(word));
  const values32 = table;
  const words = new Uint16Array(data.buffer, data.byteOffset, values.length);
  for (let i = 0; i < words.length; i++) values[i] = values32[words[i] as number] as number;
}

/** Whether all values are finite. */
export function fitHalves(data: Uint8Array<ArrayBuffer>, values: number): boolean {
  const words = new Uint16Array(data.buffer, data.byteOffset, values);
  for (let i = 0; i < words.length; i++) {
    if (((words[i] as number) & EXPONENT) === EXPONENT) return false;
  }
  return true;
}

/** The values of all 65,536 words, computed on first use. */
let table: Float32Array | null = null;

function half(word: number): number {
  const exponent = (word >>> 10) & 0x1f;
  const fraction = word & 0x3ff;
  const sign = word & SIGN ? -1 : 1;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  if (exponent === 0) return sign * fraction * SMALLEST;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}
