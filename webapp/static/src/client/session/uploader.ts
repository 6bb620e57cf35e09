/** Sends updates in chunks as the server grants credit, and measures the rate. */

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
  /** When the first chunk of the current update was sent, in milliseconds of `clock`. */
  #since: number | null = null;
  /** Increases with every connection: chunks of an older one are not sent. */
  #connection = 0;
  /** The longest chunk that the server accepts. */
  #chunkBytes = CHUNK_BYTES;
  #sending: Promise<void> = Promise.resolve();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The measured rate of earlier uploads. */
  get rate(): Rate {
    return this.#rate;
  }

  /** Prepares for a new connection. */
  connecting(): void {
    this.#connection += 1;
    this.#since = null;
  }

  welcomed(chunkBytes: number): void {
    this.#chunkBytes = Math.max(1, Math.min(CHUNK_BYTES, chunkBytes));
  }

  /** Sends [from, until) of the update of `round`, after earlier requests, as long as it `isNeeded`. */
  send(round: number, update: Uint8Array, from: number, until: number, isNeeded: () => boolean): void {
    const connection = this.#connection;
    if (from === 0) this.#since = clock();
    const isCurrent = () => connection === this.#connection && isNeeded();
    this.#sending = this.#sending.then(() =>
      this.#sendChunks(round, update.subarray(0, until), from, isCurrent),
    );
  }

  /** Measures the rate, since an update of `size` bytes was answered. */
  answered(size: number): void {
    if (this.#since === null) return;
    this.#rate = uploaded(this.#rate, size, (clock() - this.#since) / 1000);
    this.#since = null;
  }

  async #sendChunks(
    round: number,
    update: Uint8Array,
    from: number,
    isCurrent: () => boolean,
  ): Promise<void> {
    const size = this.#chunkBytes;
    for (let offset = from; offset < update.length; offset += size) {
      while (isCurrent() && this.#transport.buffered > BUFFER_LIMIT) {
        await new Promise((resolve) => setTimeout(resolve, BUFFER_POLL));
      }
      if (!isCurrent()) return;
      const data = update.subarray(offset, offset + size);
      this.#transport.send(encodeFrame({ type: "chunk", round, offset, data }));
    }
  }
}
