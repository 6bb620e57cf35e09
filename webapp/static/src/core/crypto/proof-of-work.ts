/**
 * Proof of work: numbers that take many hashes to find and few to check. The twin is backend/crypto/proof_of_work.py;
 * tests/contract/vectors/proof_of_work.json binds the two. WebCrypto's SHA-256 answers each hash with a promise, which
 * takes longer than the hash; so this one is written out, for the single block that a search hashes.
 */

/** Parts of a proof: with one the time would be spread like the interval between random events. */
export const PARTS = 16;
/** PARTS parts of 2^(bits - 4) hashes on average are 2^bits hashes. */
const PART_BITS = 4;
/** Above this a page refuses: a server may not take a phone's processor for minutes. */
export const MOST_BITS = 23;

/** The constants of SHA-256 (FIPS 180-4, section 4.2.2), and its initial value (5.3.3). */
const K = new Int32Array(64);
const INITIAL = new Int32Array(8);
fillConstants();

const schedule = new Int32Array(64);

/**
 * Returns the smallest nonce of `part` in `count` numbers from `first` on; null without one. `seed` has 32 bytes; nonces
 * are below 2^48. 2^(bits - 4) hashes are needed on average; `bits` is from 5 to 35.
 */
export function search(
  seed: Uint8Array<ArrayBuffer>,
  part: number,
  bits: number,
  first: number,
  count: number,
): number | null {
  const block = blockOf(seed, part);
  const shift = 32 - (bits - PART_BITS);
  for (let nonce = first; nonce < first + count; nonce += 1) {
    block[9] = Math.floor(nonce / 2 ** 32);
    block[10] = nonce | 0;
    const word = firstWord(block);
    if (word >>> shift === 0) return nonce;
  }
  return null;
}

/** Returns the seed in a challenge, which is its hexadecimal part; null if it has none. */
export function seedOf(challenge: string): Uint8Array<ArrayBuffer> | null {
  const digits = /^[0-9]+\.([0-9a-f]{64})$/.exec(challenge)?.[1];
  if (digits === undefined) return null;
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** Returns the padded block of seed, part and nonce: 44 bytes; the nonce is filled in by the search. */
function blockOf(seed: Uint8Array<ArrayBuffer>, part: number): Int32Array {
  const block = new Int32Array(16);
  const view = new DataView(seed.buffer, seed.byteOffset, 32);
  for (let word = 0; word < 8; word += 1) block[word] = view.getInt32(4 * word);
  block[8] = part;
  block[11] = 0x80000000;
  block[15] = 8 * 44;
  return block;
}

/** Returns the first word of one block's hash (FIPS 180-4, section 6.2.2), which is all that is compared. */
function firstWord(block: Int32Array): number {
  const w = schedule;
  for (let t = 0; t < 16; t += 1) w[t] = block[t] as number;
  for (let t = 16; t < 64; t += 1) {
    const x = w[t - 15] as number;
    const y = w[t - 2] as number;
    const small0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const small1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[t] = ((w[t - 16] as number) + small0 + (w[t - 7] as number) + small1) | 0;
  }
  let a = INITIAL[0] as number;
  let b = INITIAL[1] as number;
  let c = INITIAL[2] as number;
  let d = INITIAL[3] as number;
  let e = INITIAL[4] as number;
  let f = INITIAL[5] as number;
  let g = INITIAL[6] as number;
  let h = INITIAL[7] as number;
  for (let t = 0; t < 64; t += 1) {
    const big1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const one = (h + big1 + ((e & f) ^ (~e & g)) + (K[t] as number) + (w[t] as number)) | 0;
    const big0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const two = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  return ((INITIAL[0] as number) + a) | 0;
}

/** The first 32 bits of the fractional parts of the cube and square roots of the first primes. */
function fillConstants(): void {
  let found = 0;
  for (let candidate = 2; found < 64; candidate += 1) {
    let isPrime = true;
    for (let factor = 2; factor * factor <= candidate; factor += 1) isPrime &&= candidate % factor !== 0;
    if (!isPrime) continue;
    K[found] = (candidate ** (1 / 3) * 2 ** 32) | 0;
    if (found < 8) INITIAL[found] = (candidate ** 0.5 * 2 ** 32) | 0;
    found += 1;
  }
}
