/** float16 (IEEE 754 binary16) by the bits of float32: browsers have no such array, or not all of them. */

const SIGN = 0x8000;
/** All bits of the exponent: NaN or infinity. */
const EXPONENT = 0x7c00;
/** The largest finite one, 65504. */
const MOST_BITS = 0x7bff;
/** Bits of float32: of 65504, and of the smallest that float16 has at full precision, 2^-14. */
const MOST_SINGLE_BITS = 0x477fe000;
const NORMAL_SINGLE_BITS = 0x38800000;
/** Difference of both exponents' zeros, in float32's place. */
const REBIAS = (127 - 15) << 23;
/** Bits of a fraction that float16 has no room for. */
const SURPLUS = 13;
/** The step of float16 below 2^-14. */
const SMALLEST = 2 ** -24;
/** Added to a number and taken away again, it leaves the nearest whole number, of two the even one. */
const ROUNDING = 1.5 * 2 ** 52;

/** Writes finite `values` as float16, nearest and ties to even; values beyond become the largest. */
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

/** A carry out of the fraction goes into the exponent, which is right. */
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

/** Neither NaN nor infinity is among them. */
export function fitHalves(data: Uint8Array<ArrayBuffer>, values: number): boolean {
  const words = new Uint16Array(data.buffer, data.byteOffset, values);
  for (let i = 0; i < words.length; i++) {
    if (((words[i] as number) & EXPONENT) === EXPONENT) return false;
  }
  return true;
}

/** The values of all 65,536 words, once they are needed. */
let table: Float32Array | null = null;

function half(word: number): number {
  const exponent = (word >>> 10) & 0x1f;
  const fraction = word & 0x3ff;
  const sign = word & SIGN ? -1 : 1;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  if (exponent === 0) return sign * fraction * SMALLEST;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}
