/**
 * The keystream of AES-256 in counter mode (NIST SP 800-38A, 6.5), from counter 0, as 32-bit words, of which masks
 * consist. WebCrypto enciphers zeros in blocks of 1 MiB, several at a time, so that no keystream of full length is in
 * memory.
 */

import type { Bytes } from "./bytes";

export const BLOCK_BYTES = 1 << 20;
const CIPHER_BYTES = 16;
/** Blocks that WebCrypto enciphers concurrently, on its own threads. */
const AT_ONCE = 4;

/** A mask that is added (1) or subtracted (-1). */
export interface Mask {
  /** 32 bytes. */
  readonly key: Bytes;
  readonly sign: 1 | -1;
}

/** Zeros; a block of each length in use is a part of them. */
const zeros = new Uint8Array(BLOCK_BYTES);

/** Adds the keystreams of all masks to `words` in place, modulo 2^32. */
export async function addMasks(words: Uint32Array, masks: Iterable<Mask>): Promise<void> {
  const work = blocks(words, masks);
  // A finished task takes the next block; additions run on this thread, one after the other, so they never conflict.
  await Promise.all(Array.from({ length: AT_ONCE }, () => drain(work)));
}

async function drain(work: AsyncGenerator<() => Promise<void>>): Promise<void> {
  for await (const block of work) await block();
}

/** Yields the work block by block of `words`, so that each block is read from memory once for all masks. */
async function* blocks(words: Uint32Array, masks: Iterable<Mask>): AsyncGenerator<() => Promise<void>> {
  const ciphers = await Promise.all(
    Array.from(masks, async ({ key, sign }) => ({
      cipher: await crypto.subtle.importKey("raw", key, "AES-CTR", false, ["encrypt"]),
      sign,
    })),
  );
  const each = BLOCK_BYTES / 4;
  for (let from = 0; from < words.length; from += each) {
    const target = words.subarray(from, from + each);
    for (const { cipher, sign } of ciphers) {
      yield async () => addBlock(target, await stream(cipher, 4 * from, 4 * target.length), sign);
    }
  }
}

/** Returns `length` bytes of the keystream from byte `from`, a multiple of the cipher's block. */
async function stream(cipher: CryptoKey, from: number, length: number): Promise<Uint32Array> {
  const counter = new Uint8Array(CIPHER_BYTES);
  new DataView(counter.buffer).setBigUint64(8, BigInt(from / CIPHER_BYTES));
  const algorithm = { name: "AES-CTR", counter, length: 64 };
  // Browsers run on little-endian processors, so these bytes are the words of the specification.
  return new Uint32Array(await crypto.subtle.encrypt(algorithm, cipher, zeros.subarray(0, length)));
}

function addBlock(words: Uint32Array, block: Uint32Array, sign: 1 | -1): void {
  // Typed arrays of 32 bits wrap around, as required.
  if (sign === 1)
    for (let i = 0; i < words.length; i++) words[i] = (words[i] as number) + (block[i] as number);
  else for (let i = 0; i < words.length; i++) words[i] = (words[i] as number) - (block[i] as number);
}
