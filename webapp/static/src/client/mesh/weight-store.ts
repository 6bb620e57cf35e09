/** The weights that this peer has: in memory to train from and to hand out, in the browser's storage between visits. */

import { type Bytes, sha256, toHex } from "../../core/crypto/bytes";
import { certified } from "../../core/crypto/certificates";
import { BrowserStore } from "../../core/data/storage";
import type { Certificate } from "../../protocol/wire/mesh";

/** The newest, and those of the round before, which a newcomer may still be fetching. */
const MOST_HELD = 2;

export class WeightCache {
  /** By their SHA-256, the last ones that were kept. */
  readonly #weights = new Map<string, Bytes>();

  /** Has these weights from now on; their SHA-256. */
  async keep(content: Bytes): Promise<string> {
    const hash = toHex(await sha256(content));
    this.#weights.delete(hash);
    this.#weights.set(hash, content);
    for (const oldest of this.#weights.keys()) {
      if (this.#weights.size <= MOST_HELD) break;
      this.#weights.delete(oldest);
    }
    return hash;
  }

  find(hash: string): Bytes | null {
    return this.#weights.get(hash) ?? null;
  }
}

/** What a peer brings along to a task that it was in before. */
export interface StoredWeights {
  readonly certificate: Certificate;
  readonly weights: Bytes;
}

/** The newest certified weights of one task. A browser that keeps nothing begins anew each time. */
export class WeightStore {
  readonly #store = new BrowserStore<StoredWeights>("minga-mesh", "visits");

  /** `address` is the task's whole one, `task` its name. */
  constructor(
    private readonly address: string,
    private readonly task: string,
  ) {}

  async write(visit: StoredWeights): Promise<void> {
    await this.#store.put(this.address, visit).catch(() => undefined);
  }

  async read(): Promise<StoredWeights | null> {
    const visit = await this.#store.get(this.address).catch(() => undefined);
    if (visit === undefined) return null;
    const right = toHex(await sha256(visit.weights)) === visit.certificate.weights;
    return right && (await certified(visit.certificate, this.task)) ? visit : null;
  }
}
