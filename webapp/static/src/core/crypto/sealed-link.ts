/**
 * Sealed links, whose frames a third party carries: AES-256-GCM (NIST SP 800-38D) under keys that both ends agreed on
 * by X25519, one for each direction. The twin is backend/crypto/sealed_link.py;
 * tests/contract/vectors/sealed_link.json tests both.
 */

import { type Bytes, concat, utf8 } from "./bytes";
import { hkdf } from "./derive";
import type { KeyPair } from "./keys";

/** The number of bytes by which sealing lengthens a frame. */
export const TAG_BYTES = 16;
const NONCE_BYTES = 12;

/** The public ids of the peers at both ends. */
export interface LinkEnds {
  readonly own: string;
  readonly other: string;
}

/** One end of a sealed link. Frames are opened in the order in which the other end sealed them. */
export class SealedLink {
  #sealed = 0;
  #opened = 0;

  private constructor(
    readonly sending: CryptoKey,
    readonly receiving: CryptoKey,
  ) {}

  /** Returns the link of two ends that sent each other their public keys; null if `otherKey` is no valid key. */
  static async make(ends: LinkEnds, keys: KeyPair, otherKey: Uint8Array): Promise<SealedLink | null> {
    const agreed = await keys.agree(otherKey);
    if (agreed === null) return null;
    const both = [keys.publicKey, otherKey];
    const salt = concat(ends.own < ends.other ? both : both.reverse());
    const [sending, receiving] = await Promise.all([
      directionKey(agreed, salt, ends.own, "encrypt"),
      directionKey(agreed, salt, ends.other, "decrypt"),
    ]);
    return new SealedLink(sending, receiving);
  }

  /** Seals the next frame for the other end. */
  async seal(frame: Bytes): Promise<Bytes> {
    const iv = nonce(this.#sealed++);
    return new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, this.sending, frame));
  }

  /** Opens the next frame of the other end; returns null if this is not the frame that it sealed next. */
  async open(sealed: Bytes): Promise<Bytes | null> {
    const iv = nonce(this.#opened++);
    try {
      return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, this.receiving, sealed));
    } catch (problem) {
      if (problem instanceof DOMException && problem.name === "OperationError") return null;
      throw problem;
    }
  }
}

async function directionKey(agreed: Bytes, salt: Bytes, sender: string, use: KeyUsage): Promise<CryptoKey> {
  const key = await hkdf(agreed, salt, utf8(`minga/mesh/1/${sender}`));
  return crypto.subtle.importKey("raw", key, "AES-GCM", false, [use]);
}

function nonce(count: number): Bytes {
  const bytes = new Uint8Array(NONCE_BYTES);
  new DataView(bytes.buffer).setBigUint64(NONCE_BYTES - 8, BigInt(count));
  return bytes;
}
