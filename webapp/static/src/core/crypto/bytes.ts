/** The byte encoding of numbers, texts and lists before they are hashed or signed. */

/** Bytes as WebCrypto accepts them. */
export type Bytes = Uint8Array<ArrayBuffer>;

export function concat(parts: readonly Uint8Array[]): Bytes {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Encodes a whole number from 0 to 2^53 - 1 in 8 bytes, little-endian. */
export function integer(value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
  return bytes;
}

/** Encodes a float64 in 8 bytes, little-endian. */
export function real(value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  return bytes;
}

/** Encodes places in a roster, 4 bytes each, little-endian. */
export function places(...values: readonly number[]): Bytes {
  const bytes = new Uint8Array(4 * values.length);
  const view = new DataView(bytes.buffer);
  values.forEach((value, i) => {
    view.setUint32(4 * i, value, true);
  });
  return bytes;
}

export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text);
}

/** Decodes hexadecimal digits. */
export function fromHex(digits: string): Bytes {
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) =>
    Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16),
  );
}

/** Encodes bytes in lower-case hexadecimal digits, two per byte. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Joins parts, each with its length (4 bytes, little-endian): different lists have different encodings. */
export function fields(...parts: readonly Uint8Array[]): Bytes {
  return concat(parts.flatMap((part) => [places(part.length), part]));
}

export async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** Returns a negative number if `a` precedes `b`, which has the same length, in the order of bytes. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const at = a.findIndex((byte, i) => byte !== b[i]);
  return at < 0 ? 0 : (a[at] as number) - (b[at] as number);
}

/** Whether both have the same bytes. Only for public data: the time depends on the content. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
