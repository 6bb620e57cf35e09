/**
 * Fetches this peer's weights, and deposits them at the server for its records: over links, or as blobs of the
 * server.
 */

import type { Bytes } from "../../core/crypto/bytes";
import { download } from "../../core/data/download";
import { later } from "../../core/user-messages";
import { WeightCache } from "./weight-store";
import type { WeightTransfer } from "./weight-transfer";

/** Peers that may have the weights; `size` is the weights' number of bytes. */
export interface WeightHolders {
  readonly fetching: WeightTransfer;
  readonly clients: readonly string[];
  readonly size: number;
}

export class WeightSources {
  /** The weights that this peer has. */
  readonly holdings = new WeightCache();

  constructor(
    private readonly origin: string,
    private readonly task: string,
  ) {}

  /**
   * Returns the weights: from this peer, from peers that have them, or else from the server. Throws an Error for
   * people.
   */
  async fetch(hash: string, holders: WeightHolders | null): Promise<Bytes> {
    const local = this.holdings.find(hash);
    if (local !== null) return local;
    const brought = await holders?.fetching.fetch(hash, holders.size, holders.clients);
    const content = brought ?? (await this.#download(hash));
    if ((await this.holdings.keep(content)) !== hash)
      throw new Error(later("The weights were damaged on their way."));
    return content;
  }

  /** Uploads the weights. If this peer fails or no longer has them, the server asks another one. */
  async deposit(hash: string): Promise<void> {
    const body = this.holdings.find(hash);
    if (body === null) return;
    const address = `${this.origin}/api/tasks/${this.task}/weights/${hash}`;
    await fetch(address, { method: "PUT", body }).catch(() => null);
  }

  async #download(hash: string): Promise<Bytes> {
    const { ok, bytes } = await download(`${this.origin}/blobs/${hash}`);
    if (!ok) throw new Error(later("No peer that is linked with this device has the weights of this round."));
    return bytes;
  }
}
