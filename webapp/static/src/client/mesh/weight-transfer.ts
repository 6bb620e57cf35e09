/** Weights from one peer to another: for newcomers, and for who missed a round. */

import { type Bytes, sha256, toHex } from "../../core/crypto/bytes";
import type { PeerFrame } from "../../protocol/wire/mesh";
import { type LinkManager, MOST_BUFFERED } from "../transports/links";
import type { WeightCache } from "./weight-store";

/** A peer that hands out weights and says nothing for so long is given up for another, in seconds. */
const PATIENCE = 5;

type PeerFrameOf<T extends PeerFrame["type"]> = Extract<PeerFrame, { readonly type: T }>;

/** Weights that come from `client`, chunk after chunk; `filled` bytes are here, some of them from other peers. */
interface IncomingWeights {
  readonly client: string;
  readonly hash: string;
  readonly content: Bytes;
  filled: number;
  /** Says whether it can go on. */
  readonly news: (more: boolean) => void;
}

export class WeightTransfer {
  #coming: IncomingWeights | null = null;
  /** Who is handed out what, by the number of the request: a newer one ends the older. */
  readonly #handing = new Map<string, number>();
  #requests = 0;

  constructor(
    private readonly links: LinkManager,
    private readonly holdings: WeightCache,
  ) {}

  /**
   * The weights of that hash, `size` bytes long, from the first of `clients` that has them. What one sent before it went away
   * is not asked for again. Null if none of them has them.
   */
  async fetch(hash: string, size: number, clients: readonly string[]): Promise<Bytes | null> {
    const content = new Uint8Array(size);
    let filled = 0;
    for (const client of clients) {
      filled = await this.#from(client, hash, content, filled);
      if (filled < size) continue;
      if (toHex(await sha256(content)) === hash) return content;
      // One of them sent something else; the next must send all of it.
      filled = 0;
    }
    return null;
  }

  /** How many bytes are here after `client` was asked for the rest. */
  async #from(client: string, hash: string, content: Bytes, filled: number): Promise<number> {
    if (!this.links.send(client, { type: "fetch", weights: hash, offset: filled })) return filled;
    return new Promise((resolve) => {
      let patience: ReturnType<typeof setTimeout>;
      const end = () => {
        clearTimeout(patience);
        if (this.#coming === coming) this.#coming = null;
        resolve(coming.filled);
      };
      const news = (more: boolean) => {
        clearTimeout(patience);
        if (more && coming.filled < content.length) patience = setTimeout(end, PATIENCE * 1000);
        else end();
      };
      const coming: IncomingWeights = { client, hash, content, filled, news };
      this.#coming = coming;
      news(true);
    });
  }

  /** A chunk came; from whom none was asked for, it is passed over. */
  came(client: string, { weights, size, offset, data }: PeerFrameOf<"weights">): void {
    const coming = this.#coming;
    if (coming?.client !== client || coming.hash !== weights) return;
    const fits = size === coming.content.length && offset + data.length <= size;
    if (fits && offset === coming.filled) {
      coming.content.set(data, offset);
      coming.filled += data.length;
    }
    coming.news(fits);
  }

  /** `client` wants weights; what it wanted before it no longer does. */
  async asked(client: string, { weights, offset }: PeerFrameOf<"fetch">): Promise<void> {
    this.#requests += 1;
    const request = this.#requests;
    this.#handing.set(client, request);
    const content = this.holdings.find(weights);
    const size = content?.length ?? 0;
    if (content === null || offset >= size) {
      this.links.send(client, { type: "weights", weights, size, offset, data: new Uint8Array() });
      return;
    }
    let at = offset;
    while (at < size && this.#handing.get(client) === request) {
      const data = content.subarray(at, at + this.links.room(client));
      if (!this.links.send(client, { type: "weights", weights, size, offset: at, data }, true)) return;
      at += data.length;
      await this.links.drained(client, MOST_BUFFERED);
    }
  }

  /** The link to `client` is gone. */
  lost(client: string): void {
    this.#handing.delete(client);
    if (this.#coming?.client === client) this.#coming.news(false);
  }
}
