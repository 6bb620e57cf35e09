/** Sends updates in chunks as the server grants credit, and learns how fast that goes. */

import { clock } from "../../core/messages/training";
import { type Rate, uploaded } from "../../protocol/client/training-pace";
import { CHUNK_BYTES, encodeFrame } from "../../protocol/wire/messages";
import type { Transport } from "../transports/socket";

/** More than this in the socket's buffer only delays other frames. */
const BUFFER_LIMIT = 4 * CHUNK_BYTES;
const BUFFER_POLL = 20;

export class Uploader {
  readonly #transport: Transport;
  #rate: Rate = null;
  /** When the first chunk of the update in hand left, in milliseconds of `clock`. */
  #since: number | null = null;
  /** Grows with every connection: chunks of an older one are not sent on. */
  #connection = 0;
  /** The longest chunk that the server takes. */
  #chunkBytes = CHUNK_BYTES;
  #sending: Promise<void> = Promise.resolve();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** What was measured of earlier uploads. */
  get rate(): Rate {
    return this.#rate;
  }

  /** Another connection is opened. */
  connecting(): void {
    this.#connection += 1;
    this.#since = null;
  }

  welcomed(chunkBytes: number): void {
    this.#chunkBytes = Math.max(1, Math.min(CHUNK_BYTES, chunkBytes));
  }

  /** Sends [from, until) of the update of `round`, after what was asked for before, as long as it is `wanted`. */
  send(round: number, update: Uint8Array, from: number, until: number, isNeeded: () => boolean): void {
    const connection = this.#connection;
    if (from === 0) this.#since = clock();
    const current = () => connection === this.#connection && isNeeded();
    this.#sending = this.#sending.then(() =>
      this.#sendChunks(round, update.subarray(0, until), from, current),
    );
  }

  /** An update of `size` bytes was answered: how fast did it get there? */
  answered(size: number): void {
    if (this.#since === null) return;
    this.#rate = uploaded(this.#rate, size, (clock() - this.#since) / 1000);
    this.#since = null;
  }

  async #sendChunks(round: number, update: Uint8Array, from: number, current: () => boolean): Promise<void> {
    const size = this.#chunkBytes;
    for (let offset = from; offset < update.length; offset += size) {
      while (current() && this.#transport.buffered > BUFFER_LIMIT) {
        await new Promise((resolve) => setTimeout(resolve, BUFFER_POLL));
      }
      if (!current()) return;
      const data = update.subarray(offset, offset + size);
      this.#transport.send(encodeFrame({ type: "chunk", round, offset, data }));
    }
  }
}
