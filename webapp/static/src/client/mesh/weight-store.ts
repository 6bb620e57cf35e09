/**
 * The weights that this peer has: in memory for training and for other peers, in the browser's storage between
 * sessions.
 */

import { type Bytes, sha256, toHex } from "../../core/crypto/bytes";
import { certified } from "../../core/crypto/certificates";
import { BrowserStore } from "../../core/data/storage";
import type { Certificate } from "../../protocol/wire/mesh";

/** The newest weights, and those of the round before, which a new peer may still be fetching. */
const MOST_CACHED = 2;

export class WeightCache {
  /** How many weights are kept. */
  most = MOST_CACHED;
  /** The last weights that were kept, by their SHA-256. */
  readonly #weights = new Map<string, Bytes>();

  /** Keeps these weights; returns their SHA-256. */
  async keep(content: Bytes): Promise<string> {
    const hash = toHex(await sha256(content));
    this.#weights.delete(hash);
    this.#weights.set(hash, content);
    for (const oldest of this.#weights.keys()) {
      if (this.#weights.size <= this.most) break;
      this.#weights.delete(oldest);
    }
    return hash;
  }

  find(hash: string): Bytes | null {
    return this.#weights.get(hash) ?? null;
  }
}

/** The weights that a peer brings to a task from an earlier session, and what proves them. */
export interface StoredWeights {
  readonly certificate: Certificate;
  readonly chain: readonly Certificate[];
  readonly weights: Bytes;
}

/** The newest certified weights of one task. A browser without storage begins without weights each time. */
export class WeightStore {
  readonly #store = new BrowserStore<StoredWeights>("minga-mesh", "visits");

  /** `address` is the task's full address, `task` its name. */
  constructor(
    private readonly address: string,
    private readonly task: string,
  ) {}

  async write(visit: StoredWeights): Promise<void> {
    await this.#store.put(this.address, visit).catch(() => undefined);
  }

  async read(): Promise<StoredWeights | null> {
    const visit = await this.#store.get(this.address).catch(() => undefined);
    // Certificates of earlier releases name no run, so that they prove nothing.
    if (visit?.certificate.run === undefined) return null;
    const right = toHex(await sha256(visit.weights)) === visit.certificate.weights;
    return right && (await certified(visit.certificate, this.task)) ? visit : null;
  }
}
