/** Weights as this peer gets them and hands them in for the record: over links, or as blobs of the task's server. */

import type { Bytes } from "../../core/crypto/bytes";
import { WeightCache } from "./weight-store";
import type { WeightTransfer } from "./weight-transfer";

/** Peers that may have the weights; `size` is how many bytes these have. */
export interface WeightHolders {
  readonly fetching: WeightTransfer;
  readonly clients: readonly string[];
  readonly size: number;
}

export class WeightSources {
  /** What is here already. */
  readonly holdings = new WeightCache();

  constructor(
    private readonly origin: string,
    private readonly task: string,
  ) {}

  /** From here, from peers that have them, or else from the server. Throws an Error for people. */
  async bring(hash: string, holders: WeightHolders | null): Promise<Bytes> {
    const local = this.holdings.find(hash);
    if (local !== null) return local;
    const brought = await holders?.fetching.fetch(hash, holders.size, holders.clients);
    const content = brought ?? (await this.#download(hash));
    if ((await this.holdings.keep(content)) !== hash)
      throw new Error("The weights were damaged on their way.");
    return content;
  }

  /** The server asks another one where this peer cannot, or does not have them any more. */
  async deposit(hash: string): Promise<void> {
    const body = this.holdings.find(hash);
    if (body === null) return;
    const address = `${this.origin}/api/tasks/${this.task}/weights/${hash}`;
    await fetch(address, { method: "PUT", body }).catch(() => null);
  }

  async #download(hash: string): Promise<Bytes> {
    const response = await fetch(`${this.origin}/blobs/${hash}`);
    if (!response.ok) throw new Error("Nobody who is linked with this device has the weights of this round.");
    return new Uint8Array(await response.arrayBuffer());
  }
}
