/**
 * Transfers weights from peer to peer, for new peers and for those that missed a round; and other bytes by their
 * SHA-256.
 */

import { type Bytes, sha256, toHex } from "../../core/crypto/bytes";
import type { PeerFrame } from "../../protocol/wire/mesh";
import { type LinkManager, MOST_BUFFERED } from "../transports/links";

/** Seconds without new bytes after which a peer that sends weights is given up for another. */
const PATIENCE = 5;

/** Bytes a second below which it is given up, too: who sends one now and then would hold up all other downloads. */
const SLOWEST = 16 * 1024;

type PeerFrameOf<T extends PeerFrame["type"]> = Extract<PeerFrame, { readonly type: T }>;

/** Bytes of which `filled` have arrived, some of them perhaps from other peers. */
interface Arrived {
  content: Bytes;
  filled: number;
}

/** Weights that arrive from `client` in chunks: as many bytes as its first chunk says, but not more than `atMost`. */
interface IncomingWeights {
  readonly client: string;
  readonly hash: string;
  readonly atMost: number;
  readonly arrived: Arrived;
  size: number | null;
  /** Reports new bytes, or that no more can arrive. */
  readonly report: (more: boolean) => void;
}

/** The bytes that this peer has, by their SHA-256. */
export interface Holdings {
  find(hash: string): Bytes | null | Promise<Bytes | null>;
}

export class WeightTransfer {
  /** Downloads are made one after the other. */
  #downloading: Promise<unknown> = Promise.resolve();
  #incoming: IncomingWeights | null = null;
  /** The transfer to each peer, by the number of its request: a newer request ends the older one. */
  readonly #served = new Map<string, number>();
  #requests = 0;
  /** What is read for each peer: however often it asks, one after the other. */
  readonly #reading = new Map<string, Promise<Bytes | null>>();

  constructor(
    private readonly links: LinkManager,
    private readonly holdings: Holdings,
  ) {}

  /**
   * Returns the bytes of that hash, at most so many, from the first of `clients` that has them. Bytes from a peer that
   * went away are kept. Returns null if no peer has them.
   */
  fetch(hash: string, atMost: number, clients: readonly string[]): Promise<Bytes | null> {
    const fetched = this.#downloading.then(() => this.#fetch(hash, atMost, clients));
    this.#downloading = fetched;
    return fetched;
  }

  async #fetch(hash: string, atMost: number, clients: readonly string[]): Promise<Bytes | null> {
    let arrived: Arrived = { content: new Uint8Array(), filled: 0 };
    for (const client of clients) {
      // What others sent before may be false: then this one is asked for all.
      for (let attempts = arrived.filled > 0 ? 2 : 1; attempts > 0; attempts--) {
        if (!(await this.#from(client, hash, atMost, arrived))) break;
        if (toHex(await sha256(arrived.content)) === hash) return arrived.content;
        arrived = { content: new Uint8Array(), filled: 0 };
      }
    }
    return null;
  }

  /** Asks `client` for the rest; returns whether all has arrived. */
  async #from(client: string, hash: string, atMost: number, arrived: Arrived): Promise<boolean> {
    if (!this.links.send(client, { type: "fetch", weights: hash, offset: arrived.filled })) return false;
    return new Promise((resolve) => {
      let patience: ReturnType<typeof setTimeout>;
      const end = () => {
        clearTimeout(patience);
        clearTimeout(slow);
        if (this.#incoming === incoming) this.#incoming = null;
        resolve(isWhole(incoming));
      };
      const report = (more: boolean) => {
        clearTimeout(patience);
        if (more && !isWhole(incoming)) patience = setTimeout(end, PATIENCE * 1000);
        else end();
      };
      const slow = setTimeout(end, 1000 * (PATIENCE + (atMost - arrived.filled) / SLOWEST));
      const incoming: IncomingWeights = { client, hash, atMost, arrived, size: null, report };
      this.#incoming = incoming;
      report(true);
    });
  }

  /** Takes a chunk; one that was not requested from this peer is ignored. */
  takeChunk(client: string, { weights, size, offset, data }: PeerFrameOf<"weights">): void {
    const incoming = this.#incoming;
    if (incoming?.client !== client || incoming.hash !== weights) return;
    const { arrived, atMost } = incoming;
    if (
      size !== (incoming.size ?? size) ||
      size === 0 ||
      size > atMost ||
      (data.length > 0 && offset + data.length > size)
    ) {
      incoming.size = null;
      incoming.report(false);
      return;
    }
    incoming.size = size;
    if (data.length > 0 && offset === arrived.filled) {
      arrived.content = ofSize(arrived.content, size);
      arrived.content.set(data, offset);
      arrived.filled += data.length;
      incoming.report(true);
    } else if (isWhole(incoming)) incoming.report(false);
  }

  /** Takes a request for weights; it ends an earlier request of `client`. */
  async serve(client: string, { weights, offset }: PeerFrameOf<"fetch">): Promise<void> {
    this.#requests += 1;
    const request = this.#requests;
    this.#served.set(client, request);
    const isNewest = () => this.#served.get(client) === request;
    const before = this.#reading.get(client) ?? Promise.resolve();
    // What cannot be read counts as missing, and later requests are answered.
    const reading = before.then(() => (isNewest() ? this.holdings.find(weights) : null)).catch(() => null);
    this.#reading.set(client, reading);
    const content = await reading;
    if (!isNewest()) return;
    const size = content?.length ?? 0;
    if (content === null || offset >= size) {
      this.links.send(client, { type: "weights", weights, size, offset, data: new Uint8Array() });
      return;
    }
    let at = offset;
    while (at < size && isNewest()) {
      const data = content.subarray(at, at + this.links.room(client));
      if (!this.links.send(client, { type: "weights", weights, size, offset: at, data }, true)) return;
      at += data.length;
      await this.links.drained(client, MOST_BUFFERED);
    }
  }

  /** Ends the transfers from and to `client`, whose link is down. */
  lost(client: string): void {
    this.#served.delete(client);
    this.#reading.delete(client);
    if (this.#incoming?.client === client) this.#incoming.report(false);
  }
}

function isWhole({ size, arrived }: IncomingWeights): boolean {
  return size !== null && arrived.filled >= size;
}

/** Returns `content` with so many bytes. */
function ofSize(content: Bytes, size: number): Bytes {
  if (content.length === size) return content;
  const resized = new Uint8Array(size);
  resized.set(content.subarray(0, size));
  return resized;
}
