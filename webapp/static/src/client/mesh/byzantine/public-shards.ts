/**
 * Takes data shards from other members while the server is away, and gives them to members that ask: any member may be
 * drawn to work on any shard. The twin is backend/peer/mesh/byzantine/public_shards.py.
 */

import type { Bytes } from "../../../core/crypto/bytes";
import { largestShard } from "../../../core/data/shard";
import { cachedShard, cacheShard } from "../../../core/data/shard-cache";
import type { Train } from "../../../protocol/rounds/participant-events";
import type { ByzantineRules } from "../../../protocol/wire/mesh";
import type { WeightTransfer } from "../weight-transfer";
import type { ModelSize, StateLinks } from "./state-transfer";

export interface PublicShardsOptions {
  readonly origin: string;
  readonly rules: ByzantineRules;
  readonly links: StateLinks;
  readonly fetching: WeightTransfer;
  readonly model: () => ModelSize;
  /** Whether the server is there. */
  readonly connected: () => boolean;
}

export class PublicShards {
  readonly #options: PublicShardsOptions;

  constructor(options: PublicShardsOptions) {
    this.#options = options;
  }

  /** Puts shards that this browser lacks into its cache, where the training worker finds them. */
  async bring(shards: Train["shards"]): Promise<void> {
    const { connected, fetching, links, model } = this.#options;
    if (connected()) return;
    for (const { sha256, examples } of shards) {
      if ((await this.#held(sha256)) !== null) continue;
      const largest = largestShard(examples, model().exampleValues);
      const content = await fetching.fetch(sha256, largest, links.linked);
      if (content !== null) await cacheShard(sha256, content);
    }
  }

  /** Returns a public shard for another member; null if this browser does not have it. */
  async find(hash: string): Promise<Bytes | null> {
    return this.#options.rules.shards.some(({ sha256 }) => sha256 === hash) ? this.#held(hash) : null;
  }

  /** Returns a shard from the two caches of this browser. */
  async #held(hash: string): Promise<Bytes | null> {
    const cached = await cachedShard(hash);
    if (cached !== null) return cached;
    const address = `${this.#options.origin}/blobs/${hash}`;
    const response = await fetch(address, { cache: "only-if-cached", mode: "same-origin" }).catch(() => null);
    return response?.ok ? new Uint8Array(await response.arrayBuffer()) : null;
  }
}
