/**
 * Transfers weights from peer to peer, for new peers and for those that missed a round; and other bytes by their
 * SHA-256.
 */

import { type Bytes, sha256, toHex } from "../../core/crypto/bytes";
import type { PeerFrame } from "../../protocol/wire/mesh";
import { type LinkManager, MOST_BUFFERED } from "../transports/links";

/** Seconds without data after which a peer that sends weights is given up for another. */
const PATIENCE = 5;

type PeerFrameOf<T extends PeerFrame["type"]> = Extract<PeerFrame, { readonly type: T }>;

/** Weights that arrive from `client` in chunks; `filled` bytes have arrived, some of them from other peers. */
interface IncomingWeights {
  readonly client: string;
  readonly hash: string;
  readonly content: Bytes;
  filled: number;
  /** Reports whether more chunks can arrive. */
  readonly report: (more: boolean) => void;
}

/** The bytes that this peer has, by their SHA-256. */
export interface Holdings {
  find(hash: string): Bytes | null;
}

export class WeightTransfer {
  /** Downloads are made one after the other. */
  #downloading: Promise<unknown> = Promise.resolve();
  #incoming: IncomingWeights | null = null;
  /** The transfer to each peer, by the number of its request: a newer request ends the older one. */
  readonly #served = new Map<string, number>();
  #requests = 0;

  constructor(
    private readonly links: LinkManager,
    private readonly holdings: Holdings,
  ) {}

  /**
   * Returns the bytes of that hash, of which there are `size`, from the first of `clients` that has them. Bytes from a
   * peer that went away are kept. Returns null if no peer has them.
   */
  fetch(hash: string, size: number, clients: readonly string[]): Promise<Bytes | null> {
    const fetched = this.#downloading.then(() => this.#fetch(hash, size, clients));
    this.#downloading = fetched;
    return fetched;
  }

  async #fetch(hash: string, size: number, clients: readonly string[]): Promise<Bytes | null> {
    const content = new Uint8Array(size);
    let filled = 0;
    for (const client of clients) {
      filled = await this.#from(client, hash, content, filled);
      if (filled < size) continue;
      if (toHex(await sha256(content)) === hash) return content;
      // A peer sent wrong bytes; the next one must send all of them.
      filled = 0;
    }
    return null;
  }

  /** Asks `client` for the rest; returns how many bytes have arrived after that. */
  async #from(client: string, hash: string, content: Bytes, filled: number): Promise<number> {
    if (!this.links.send(client, { type: "fetch", weights: hash, offset: filled })) return filled;
    return new Promise((resolve) => {
      let patience: ReturnType<typeof setTimeout>;
      const end = () => {
        clearTimeout(patience);
        if (this.#incoming === incoming) this.#incoming = null;
        resolve(incoming.filled);
      };
      const report = (more: boolean) => {
        clearTimeout(patience);
        if (more && incoming.filled < content.length) patience = setTimeout(end, PATIENCE * 1000);
        else end();
      };
      const incoming: IncomingWeights = { client, hash, content, filled, report };
      this.#incoming = incoming;
      report(true);
    });
  }

  /** Takes a chunk; one that was not requested from this peer is ignored. */
  takeChunk(client: string, { weights, size, offset, data }: PeerFrameOf<"weights">): void {
    const incoming = this.#incoming;
    if (incoming?.client !== client || incoming.hash !== weights) return;
    const fits = size === incoming.content.length && offset + data.length <= size;
    if (fits && offset === incoming.filled) {
      incoming.content.set(data, offset);
      incoming.filled += data.length;
    }
    incoming.report(fits);
  }

  /** Takes a request for weights; it ends an earlier request of `client`. */
  async serve(client: string, { weights, offset }: PeerFrameOf<"fetch">): Promise<void> {
    this.#requests += 1;
    const request = this.#requests;
    this.#served.set(client, request);
    const content = this.holdings.find(weights);
    const size = content?.length ?? 0;
    if (content === null || offset >= size) {
      this.links.send(client, { type: "weights", weights, size, offset, data: new Uint8Array() });
      return;
    }
    let at = offset;
    while (at < size && this.#served.get(client) === request) {
      const data = content.subarray(at, at + this.links.room(client));
      if (!this.links.send(client, { type: "weights", weights, size, offset: at, data }, true)) return;
      at += data.length;
      await this.links.drained(client, MOST_BUFFERED);
    }
  }

  /** Ends the transfers from and to `client`, whose link is down. */
  lost(client: string): void {
    this.#served.delete(client);
    if (this.#incoming?.client === client) this.#incoming.report(false);
  }
}
