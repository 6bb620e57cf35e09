/**
 * Decodes untrusted msgpack after checking its structure, because the decoder allocates whatever lengths the bytes
 * claim.
 */

import { decode } from "@msgpack/msgpack";

/** The deepest nesting of lists and maps in Minga's messages and files. */
const DEEPEST = 8;
/** Bytes of the number, or of the value itself, that follows the heads 0xc0 to 0xdf. */
const NUMBERS = [
  0, 0, 0, 0, 1, 2, 4, 1, 2, 4, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 16, 1, 2, 4, 2, 4, 2, 4,
];

/** Decodes `bytes`. Throws an Error if they are not msgpack, or have lists and maps that no valid message has. */
export function unpack(bytes: Uint8Array): unknown {
  look(bytes);
  return decode(bytes);
}

/** Checks all heads, without reading values. Every list and map must be followed by at least one byte per item. */
function look(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const open: number[] = [];
  let at = 0;
  do {
    const [next, items] = step(view, at);
    at = next;
    if (items > view.byteLength - at) throw new RangeError("a list or map is longer than its bytes");
    if (open.length > 0) open[open.length - 1] = (open.at(-1) ?? 0) - 1;
    if (items > 0) open.push(items);
    if (open.length > DEEPEST) throw new RangeError(`lists and maps lie over ${DEEPEST} deep in each other`);
    while (open.at(-1) === 0) open.pop();
  } while (open.length > 0);
}

/** Returns where the value at `at` ends, or its first item begins, and how many items it has. */
function step(view: DataView, at: number): [next: number, items: number] {
  const head = view.getUint8(at);
  if (head < 0x80 || head >= 0xe0) return [at + 1, 0];
  if (head < 0x90) return [at + 1, 2 * (head & 0x0f)];
  if (head < 0xa0) return [at + 1, head & 0x0f];
  if (head < 0xc0) return [at + 1 + (head & 0x1f), 0];
  const width = NUMBERS[head - 0xc0] ?? 0;
  const after = at + 1 + width;
  const counts = (head >= 0xc4 && head <= 0xc9) || head >= 0xd9;
  if (!counts) return [head >= 0xd4 && head <= 0xd8 ? after + 1 : after, 0];
  const count =
    width === 1 ? view.getUint8(at + 1) : width === 2 ? view.getUint16(at + 1) : view.getUint32(at + 1);
  if (head >= 0xdc) return [after, head >= 0xde ? 2 * count : count];
  return [after + count + (head >= 0xc7 && head <= 0xc9 ? 1 : 0), 0];
}
