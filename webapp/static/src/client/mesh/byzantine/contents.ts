/**
 * Keeps pieces and means of the last rounds by their SHA-256, for validators and for who lacks them. The twin is
 * backend/peer/mesh/byzantine/contents.py.
 */

import { type Bytes, sha256, toHex } from "../../../core/crypto/bytes";

/** A case may come before the court two rounds after it was doubted. */
export const ROUNDS_KEPT = 5;

export class RoundContents {
  readonly #contents = new Map<string, { readonly round: number; readonly bytes: Bytes }>();

  /** Keeps bytes of a round, whose digest is known. */
  add(round: number, digest: string, bytes: Bytes): void {
    this.#contents.set(digest, { round, bytes });
  }

  /** Keeps bytes of a round; returns their digest. */
  async keep(round: number, bytes: Bytes): Promise<string> {
    const digest = toHex(await sha256(bytes));
    this.add(round, digest, bytes);
    return digest;
  }

  find(digest: string): Bytes | null {
    return this.#contents.get(digest)?.bytes ?? null;
  }

  /** Returns the bytes. Throws an Error where they are not kept. */
  get(digest: string): Bytes {
    const bytes = this.find(digest);
    if (bytes === null) throw new Error(`The bytes ${digest} are not here.`);
    return bytes;
  }

  /** Drops what was added in rounds before this one. */
  forgetBefore(round: number): void {
    for (const [digest, one] of this.#contents) if (one.round < round) this.#contents.delete(digest);
  }
}
