/** Sends pieces and means to the other members, in chunks and in turn. The twin is backend/peer/mesh/sender.py. */

import type { Bytes } from "../../core/crypto/bytes";
import type { PeerFrame } from "../../protocol/wire/mesh";
import type { ShowFrame } from "./byzantine/shown-bytes";
import type { Chunk } from "./receiver";

/** Bytes that may wait in a link: enough that it does not run dry, few enough that little is sent in vain. */
const WAITING_BYTES = 256 * 1024;
/** Below this number of bytes a transfer counts as done, and the next member is served. */
const LAST_BYTES = 32 * 1024;
/**
 * Number of concurrent transfers that make progress. If all members sent to all others at the same time, their
 * streams would compete for bandwidth, and some piece would arrive long after the rest.
 */
const AT_ONCE = 2;
/** A member that takes nothing for this long does not delay the others. */
const STALLED_MILLISECONDS = 500;

/** The part of the links that an exchange needs (client/transports/links.ts `LinkManager`). */
export interface GroupLinks {
  /**
   * Sends a frame; returns false without a link. Frames to one peer keep their order among those with the same
   * `bulk`.
   */
  send(client: string, frame: PeerFrame, bulk?: boolean): boolean;
  /** Returns the bytes of data that a chunk for this peer may have; 0 without a link. */
  room(client: string): number;
  /** Resolves when fewer than `below` bytes wait for this peer, or when there is no link. */
  drained(client: string, below: number): Promise<void>;
}

/** The fields common to all chunks of a part, and all its bytes. */
export interface PartContent {
  readonly head: Omit<Chunk, "offset" | "data"> | Omit<ShowFrame, "offset" | "data">;
  readonly bytes: Bytes;
}

/** Makes the content when it is sent; null if there is nothing to send after all. */
export type ContentMaker = () => Promise<PartContent | null>;

/** A running transfer. */
interface Transfer {
  progressAt: number;
}

/** The transfers to one member, one after the other. */
interface SendQueue {
  waiting: ContentMaker[];
  running: Transfer | null;
}

/**
 * Sends to the members in turn. The order begins with the member after this one, so that no two members begin with
 * the same.
 */
export class Sender {
  readonly #links: GroupLinks;
  readonly #queues: ReadonlyMap<string, SendQueue>;
  /** The other members in the order of service; one that was served moves to the end. */
  #order: readonly string[];
  #isScheduled = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(links: GroupLinks, members: readonly string[], own: string) {
    this.#links = links;
    const place = members.indexOf(own);
    this.#order = [...members.slice(place + 1), ...members.slice(0, place)];
    this.#queues = new Map(this.#order.map((client) => [client, { waiting: [], running: null }]));
  }

  add(client: string, makeContent: ContentMaker): void {
    this.#queues.get(client)?.waiting.push(makeContent);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Deferred, because the order of service depends on all transfers that are queued now.
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#startTransfers();
    });
  }

  /** Drops the transfers to this peer; they are queued again if they are needed. */
  drop(client: string): void {
    this.#forget(client);
    this.#startTransfers();
  }

  clear(): void {
    for (const client of this.#order) this.#forget(client);
    clearTimeout(this.#timer);
  }

  #forget(client: string): void {
    const queue = this.#queues.get(client);
    if (queue === undefined) return;
    queue.waiting = [];
    queue.running = null;
  }

  /** Begins transfers while fewer than AT_ONCE make progress. */
  #startTransfers(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    const queues = [...this.#queues.values()];
    const makesProgress = ({ running }: SendQueue) =>
      running !== null && now - running.progressAt < STALLED_MILLISECONDS;
    let busy = queues.filter(makesProgress).length;
    for (const client of this.#order) {
      if (busy >= AT_ONCE) break;
      const queue = this.#queues.get(client) as SendQueue;
      const makeContent = queue.running === null ? queue.waiting.shift() : undefined;
      if (makeContent === undefined) continue;
      const at = this.#order.indexOf(client) + 1;
      this.#order = [...this.#order.slice(at), ...this.#order.slice(0, at)];
      void this.#runTransfer(client, queue, makeContent);
      busy += 1;
    }
    if (queues.some(({ waiting }) => waiting.length > 0))
      this.#timer = setTimeout(() => this.#startTransfers(), STALLED_MILLISECONDS);
  }

  async #runTransfer(client: string, queue: SendQueue, makeContent: ContentMaker): Promise<void> {
    const transfer: Transfer = { progressAt: performance.now() };
    queue.running = transfer;
    const linked = await this.#sendContent(client, makeContent, transfer, () => queue.running === transfer);
    if (queue.running !== transfer) return;
    queue.running = null;
    // The machine decides what to send over the next link.
    if (!linked) queue.waiting = [];
    this.#startTransfers();
  }

  /** Sends all chunks while `isNeeded`; returns false when the link is gone. An empty part is one empty chunk. */
  async #sendContent(
    client: string,
    makeContent: ContentMaker,
    transfer: Transfer,
    isNeeded: () => boolean,
  ): Promise<boolean> {
    const content = await makeContent();
    if (content === null) return true;
    const { head, bytes } = content;
    let offset = 0;
    do {
      await this.#links.drained(client, WAITING_BYTES);
      if (!isNeeded()) return true;
      const room = this.#links.room(client);
      const data = bytes.subarray(offset, offset + room);
      if (room === 0 || !this.#links.send(client, { ...head, offset, data }, true)) return false;
      transfer.progressAt = performance.now();
      offset += data.length;
    } while (offset < bytes.length);
    await this.#links.drained(client, LAST_BYTES);
    return true;
  }
}
