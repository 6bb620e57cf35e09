/** Frames of a headless peer's pipes: the length of a message in 4 bytes, little-endian, and the message in msgpack. */

import { decode, encode } from "@msgpack/msgpack";

/** More than any message: weights of 50 million values, and their update. */
const MAX_BYTES = 1 << 30;

/** Returns the frame of a message; an ArrayBuffer among its fields is written as bytes. */
export function frameOf(message: object): Uint8Array {
  const fields = Object.entries(message).map(([name, value]) => [
    name,
    value instanceof ArrayBuffer ? new Uint8Array(value) : value,
  ]);
  const body = encode(Object.fromEntries(fields), { ignoreUndefined: true });
  const frame = new Uint8Array(4 + body.length);
  new DataView(frame.buffer).setUint32(0, body.length, true);
  frame.set(body, 4);
  return frame;
}

/** Fills one buffer after the other with the pieces that a pipe gives: first a length, then its message. */
export class FrameReader {
  #buffer = new Uint8Array(4);
  #filled = 0;
  #isLength = true;

  /** Adds a piece and returns the messages that are complete with it. Throws an Error if a frame is too long. */
  add(piece: Uint8Array): unknown[] {
    const messages: unknown[] = [];
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + this.#buffer.length - this.#filled);
      this.#buffer.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled < this.#buffer.length) break;
      if (this.#isLength) this.#begin(new DataView(this.#buffer.buffer).getUint32(0, true), false);
      else {
        messages.push(decode(this.#buffer));
        this.#begin(4, true);
      }
    }
    return messages;
  }

  #begin(length: number, isLength: boolean): void {
    if (length > MAX_BYTES) throw new Error(`A frame of ${length} bytes is over the limit.`);
    this.#buffer = new Uint8Array(length);
    this.#filled = 0;
    this.#isLength = isLength;
  }
}
