/**
 * Pieces and means on their way to the other members, chunk by chunk and in turn. `backend/peer/mesh/sender.py` is the twin.
 */

import type { Bytes } from "../../core/crypto/bytes";
import type { PeerFrame } from "../../protocol/wire/mesh";
import type { Chunk } from "./receiver";

/** So much may wait in a link: enough for it not to run dry, and little to be sent in vain. */
const WAITING_BYTES = 256 * 1024;
/** Below it, a transfer is as good as over, and the next member's turn begins. */
const LAST_BYTES = 32 * 1024;
/**
 * So many transfers at once, while all get on. If all members sent to all others at the same time, their streams would push
 * each other away on the lines, and some piece or other would come long after the rest.
 */
const AT_ONCE = 2;
/** Whoever takes nothing for so long does not hold up the others. */
const STALLED_MILLISECONDS = 500;

/** What an exchange needs of links (client/transports/links.ts `Links`). */
export interface GroupLinks {
  /** Whether there was a link to send by. Frames to one peer keep their order among those with the same `bulk`. */
  send(client: string, frame: PeerFrame, bulk?: boolean): boolean;
  /** Bytes of data that a chunk for this peer may have; 0 without a link. */
  room(client: string): number;
  /** Resolves when fewer than `below` bytes wait for this peer, or when there is no link. */
  drained(client: string, below: number): Promise<void>;
}

/** A chunk's frame without what differs from chunk to chunk, and all bytes. */
export interface PartContent {
  readonly head: Omit<Chunk, "offset" | "data">;
  readonly bytes: Bytes;
}

/** Makes what is sent when its turn comes; null where there is nothing to send after all. */
export type ContentMaker = () => Promise<PartContent | null>;

/** A transfer under way. */
interface Transfer {
  gotOnAt: number;
}

/** What is sent to one member, one after the other. */
interface SendQueue {
  waiting: ContentMaker[];
  running: Transfer | null;
}

/** Turns begin with the member after one's own and go round: so no two members begin with the same. */
export class Sender {
  readonly #links: GroupLinks;
  readonly #lines: ReadonlyMap<string, SendQueue>;
  /** The others; whose turn it was goes to the end. */
  #turns: readonly string[];
  #looking = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(links: GroupLinks, members: readonly string[], own: string) {
    this.#links = links;
    const place = members.indexOf(own);
    this.#turns = [...members.slice(place + 1), ...members.slice(0, place)];
    this.#lines = new Map(this.#turns.map((client) => [client, { waiting: [], running: null }]));
  }

  add(client: string, parcel: ContentMaker): void {
    this.#lines.get(client)?.waiting.push(parcel);
    if (this.#looking) return;
    this.#looking = true;
    // Not at once: whose turn it is shows when all that is to be sent now waits.
    queueMicrotask(() => {
      this.#looking = false;
      this.#goOn();
    });
  }

  /** What waits for this peer need not go, or cannot: nobody sends it again by itself. */
  drop(client: string): void {
    this.#forget(client);
    this.#goOn();
  }

  clear(): void {
    for (const client of this.#turns) this.#forget(client);
    clearTimeout(this.#timer);
  }

  #forget(client: string): void {
    const line = this.#lines.get(client);
    if (line === undefined) return;
    line.waiting = [];
    line.running = null;
  }

  /** Begins transfers while fewer than AT_ONCE get on. */
  #goOn(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    const lines = [...this.#lines.values()];
    const getsOn = ({ running }: SendQueue) =>
      running !== null && now - running.gotOnAt < STALLED_MILLISECONDS;
    let busy = lines.filter(getsOn).length;
    for (const client of this.#turns) {
      if (busy >= AT_ONCE) break;
      const line = this.#lines.get(client) as SendQueue;
      const parcel = line.running === null ? line.waiting.shift() : undefined;
      if (parcel === undefined) continue;
      const at = this.#turns.indexOf(client) + 1;
      this.#turns = [...this.#turns.slice(at), ...this.#turns.slice(0, at)];
      void this.#depart(client, line, parcel);
      busy += 1;
    }
    if (lines.some(({ waiting }) => waiting.length > 0))
      this.#timer = setTimeout(() => this.#goOn(), STALLED_MILLISECONDS);
  }

  async #depart(client: string, line: SendQueue, parcel: ContentMaker): Promise<void> {
    const transfer: Transfer = { gotOnAt: performance.now() };
    line.running = transfer;
    const linked = await this.#sent(client, parcel, transfer, () => line.running === transfer);
    if (line.running !== transfer) return;
    line.running = null;
    // The machine says what to send over the next link.
    if (!linked) line.waiting = [];
    this.#goOn();
  }

  /** Sends all chunks while `wanted`; false when the link is gone. An empty part is one empty chunk. */
  async #sent(
    client: string,
    parcel: ContentMaker,
    transfer: Transfer,
    isNeeded: () => boolean,
  ): Promise<boolean> {
    const content = await parcel();
    if (content === null) return true;
    const { head, bytes } = content;
    let offset = 0;
    do {
      await this.#links.drained(client, WAITING_BYTES);
      if (!isNeeded()) return true;
      const room = this.#links.room(client);
      const data = bytes.subarray(offset, offset + room);
      if (room === 0 || !this.#links.send(client, { ...head, offset, data }, true)) return false;
      transfer.gotOnAt = performance.now();
      offset += data.length;
    } while (offset < bytes.length);
    await this.#links.drained(client, LAST_BYTES);
    return true;
  }
}
