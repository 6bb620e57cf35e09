/** Pieces and means on their way in: chunks of one member become the bytes of a part. */

import type { Bytes } from "../../core/crypto/bytes";
import type { PeerFrame } from "../../protocol/wire/mesh";

export type Chunk = Extract<PeerFrame, { readonly type: "piece" | "mean" }>;

interface PartialPart {
  readonly contributors: readonly number[];
  readonly bytes: Bytes;
  filled: number;
}

export class Receiver {
  /** By kind, place and part: a member has one of each under way. */
  readonly #arrivals = new Map<string, PartialPart>();

  /**
   * All bytes, once the last chunk is here; else null. A chunk that does not go on where the one before ended is one of
   * before a link broke, and passed over. Throws a RangeError for more bytes than `size`.
   */
  take(place: number, chunk: Chunk, size: number): Bytes | null {
    const { type, part, contributors, offset, data } = chunk;
    if (offset + data.length > size) throw new RangeError(`Part ${part} has ${size} bytes, and more came.`);
    const key = `${place}/${type}/${part}`;
    if (offset === 0) this.#arrivals.set(key, { contributors, bytes: new Uint8Array(size), filled: 0 });
    const arrival = this.#arrivals.get(key);
    if (arrival?.filled !== offset || !sameList(arrival.contributors, contributors)) return null;
    arrival.bytes.set(data, offset);
    arrival.filled += data.length;
    if (arrival.filled < size) return null;
    this.#arrivals.delete(key);
    return arrival.bytes;
  }

  /** The link to `place` broke: what was under way will begin again. */
  drop(place: number): void {
    for (const key of this.#arrivals.keys()) {
      if (key.startsWith(`${place}/`)) this.#arrivals.delete(key);
    }
  }

  clear(): void {
    this.#arrivals.clear();
  }
}

function sameList(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((place, i) => place === b[i]);
}
