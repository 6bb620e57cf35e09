/**
 * Packs words of which only the lowest bits count into bytes. The twin is backend/numerics/masking/bit_packing.py;
 * tests/contract/vectors/encoding.json tests that both write the same bytes.
 */

export const FULL_BITS = 32;
const WORD_BYTES = 4;
/** The weight, a word that counts unclipped updates, and the loss; each metric row has two values more. */
const FURTHER = 3;

/** Returns the words of a masked update: one per parameter and one for each further value. */
export function maskedWords(parameters: number, rows: number): number {
  return parameters + FURTHER + 2 * rows;
}

/** Returns the bytes of a masked update: `bits` per parameter, and four bytes for each further value. */
export function maskedBytes(parameters: number, rows: number, bits: number): number {
  return packedBytes(parameters, bits) + WORD_BYTES * (FURTHER + 2 * rows);
}

function packedBytes(values: number, bits: number): number {
  return Math.ceil((values * bits) / 8);
}

/**
 * Encodes a masked update for sending: the lowest `bits` of `parameters` words, then the other words, little-endian.
 */
export function packUpdate(words: Uint32Array, parameters: number, bits: number): Uint8Array<ArrayBuffer> {
  const start = packedBytes(parameters, bits);
  const out = new Uint8Array(start + WORD_BYTES * (words.length - parameters));
  if (bits === FULL_BITS) putWords(words, out);
  else {
    (bits % 8 === 0 ? packBytes : packBits)(words.subarray(0, parameters), bits, out);
    putWords(words.subarray(parameters), out.subarray(start));
  }
  return out;
}

/** Copies words as little-endian bytes: every machine that runs browsers is little-endian. */
function putWords(words: Uint32Array, out: Uint8Array): void {
  out.set(new Uint8Array(words.buffer, words.byteOffset, words.byteLength));
}

function packBytes(words: Uint32Array, bits: number, out: Uint8Array): void {
  let at = 0;
  for (let i = 0; i < words.length; i++) {
    for (let shift = 0; shift < bits; shift += 8) out[at++] = (words[i] as number) >>> shift;
  }
}

/** Packs words bit by bit. A word is added in two parts, so that it fits beside up to seven pending bits. */
function packBits(words: Uint32Array, bits: number, out: Uint8Array): void {
  const low = Math.min(bits, 16);
  const lowMask = 2 ** low - 1;
  const highMask = 2 ** (bits - low) - 1;
  let buffer = 0;
  let count = 0;
  let at = 0;
  const put = (value: number, size: number): void => {
    buffer |= value << count;
    for (count += size; count >= 8; count -= 8) {
      out[at++] = buffer & 0xff;
      buffer >>>= 8;
    }
  };
  for (const word of words) {
    put(word & lowMask, low);
    put((word >>> low) & highMask, bits - low);
  }
  if (count > 0) out[at] = buffer;
}
