/**
 * Assembles the pieces and means that one member sends in a round, chunk by chunk, by their SHA-256. The twin is
 * backend/peer/mesh/byzantine/shown_bytes.py.
 */

import { type Bytes, toHex } from "../../../core/crypto/bytes";
import type { ByzantineFrame } from "../../../protocol/wire/mesh";

export type ShowFrame = Extract<ByzantineFrame, { readonly type: "show" }>;

/** A member sends at most its vector, its mean, and in an exchange what others lack: so many vectors in all. */
const MOST_VECTORS = 6;

interface PartialContent {
  readonly name: string;
  readonly bytes: Bytes;
  filled: number;
}

/** A member sends one after the other: where one begins, nothing is kept of one that did not end. */
export class ShownBytes {
  #partial: PartialContent | null = null;
  #taken = 0;

  /** `size` is the number of bytes of the whole vector. */
  constructor(private readonly size: number) {}

  /** Returns all bytes with the last chunk, else null. Throws a RangeError for too many chunks, or in another order. */
  take({ digest, size, offset, data }: ShowFrame): Bytes | null {
    if (size > this.size || this.#taken + data.length > MOST_VECTORS * this.size) {
      throw new RangeError("It sends more bytes than a round has.");
    }
    const name = toHex(digest);
    if (offset === 0) this.#partial = { name, bytes: new Uint8Array(size), filled: 0 };
    const partial = this.#partial;
    if (
      partial?.name !== name ||
      partial.filled !== offset ||
      offset + data.length > partial.bytes.length ||
      size !== partial.bytes.length
    ) {
      throw new RangeError("Its bytes are out of order.");
    }
    partial.bytes.set(data, offset);
    partial.filled += data.length;
    this.#taken += data.length;
    if (partial.filled < size) return null;
    this.#partial = null;
    return partial.bytes;
  }

  /** Drops an unfinished transfer, after its link broke. */
  clear(): void {
    this.#partial = null;
  }
}
