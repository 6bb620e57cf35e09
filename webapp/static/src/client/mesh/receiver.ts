/** Receives pieces and means: assembles the chunks of a member to the bytes of a part. */

import type { Bytes } from "../../core/crypto/bytes";
import type { PeerFrame } from "../../protocol/wire/mesh";

export type Chunk = Extract<PeerFrame, { readonly type: "piece" | "mean" }>;

interface PartialPart {
  readonly contributors: readonly number[];
  readonly bytes: Bytes;
  filled: number;
}

export class Receiver {
  /** Partial parts by kind, place and part: a member sends one of each at a time. */
  readonly #partialParts = new Map<string, PartialPart>();

  /**
   * Returns all bytes with the last chunk, else null. A chunk that does not continue the previous one is from before
   * a link broke, and is ignored. Throws a RangeError for more bytes than `size`.
   */
  take(place: number, chunk: Chunk, size: number): Bytes | null {
    const { type, part, contributors, offset, data } = chunk;
    if (offset + data.length > size) throw new RangeError(`Part ${part} has ${size} bytes, and more came.`);
    const key = `${place}/${type}/${part}`;
    if (offset === 0) this.#partialParts.set(key, { contributors, bytes: new Uint8Array(size), filled: 0 });
    const partial = this.#partialParts.get(key);
    if (partial?.filled !== offset || !sameList(partial.contributors, contributors)) return null;
    partial.bytes.set(data, offset);
    partial.filled += data.length;
    if (partial.filled < size) return null;
    this.#partialParts.delete(key);
    return partial.bytes;
  }

  /** Drops unfinished transfers of `place`, whose link broke: they will begin again. */
  drop(place: number): void {
    for (const key of this.#partialParts.keys()) {
      if (key.startsWith(`${place}/`)) this.#partialParts.delete(key);
    }
  }

  clear(): void {
    this.#partialParts.clear();
  }
}

function sameList(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((place, i) => place === b[i]);
}
