/** A link through the task's server, which sees the number and times of frames but not their content. */

import type { Bytes } from "../../core/crypto/bytes";
import { type KeyPair, keyPair } from "../../core/crypto/keys";
import { type LinkEnds, SealedLink, TAG_BYTES } from "../../core/crypto/sealed-link";
import type { SignalBody } from "../../protocol/mesh/signals";
import { type Channel, type ChannelEvents, MOST_PARCEL_BYTES, roomIn } from "./channel";

/** The part of the server in the link. */
export interface ParcelRelay {
  send(parcel: Bytes): void;
  /** Bytes of all peers that wait to be sent to the server. */
  readonly buffered: number;
}

export class RelayedLink implements Channel {
  readonly way = "relay";
  readonly room = roomIn(MOST_PARCEL_BYTES - TAG_BYTES);
  readonly #keys: Promise<KeyPair> = keyPair(crypto.getRandomValues(new Uint8Array(32)));
  #sealed: SealedLink | null = null;
  /** Whether the other end has the same keys: one of its frames was opened. */
  #open = false;
  /** Bytes that are being sealed. */
  #sealing = 0;
  #sent: Promise<void> = Promise.resolve();
  #received: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(
    readonly session: Uint8Array,
    private readonly ends: LinkEnds,
    private readonly relay: ParcelRelay,
    private readonly tell: (body: SignalBody) => void,
    /** Makes the first frame, which shows the other end that this one has the keys. */
    private readonly greeting: () => Uint8Array<ArrayBuffer>,
    private readonly events: ChannelEvents,
  ) {}

  get open(): boolean {
    return this.#open && !this.#ended;
  }

  get buffered(): number {
    return this.#sealing + this.relay.buffered;
  }

  /** Sends this end's key: to begin, or as an answer. */
  async begin(): Promise<void> {
    const { publicKey } = await this.#keys;
    if (!this.#ended) this.tell({ kind: "seal", body: { key: publicKey } });
  }

  async receiveSignal(body: SignalBody): Promise<void> {
    if (this.#ended || body.kind !== "seal" || this.#sealed !== null) return;
    const sealed = await SealedLink.make(this.ends, await this.#keys, body.body.key);
    if (this.#ended) return;
    if (sealed === null) {
      this.#lost();
      return;
    }
    this.#sealed = sealed;
    this.send(this.greeting());
  }

  send(frame: Uint8Array<ArrayBuffer>): void {
    const sealed = this.#sealed;
    if (sealed === null) return;
    this.#sealing += frame.length;
    const parcel = sealed.seal(frame);
    this.#sent = this.#sent.then(async () => {
      const bytes = await parcel;
      this.#sealing -= frame.length;
      if (!this.#ended) this.relay.send(bytes);
      this.events.drained();
    });
  }

  /** Takes a parcel of the other end; before the keys exist it belongs to an older link, and is ignored. */
  parcel(bytes: Bytes): void {
    const sealed = this.#sealed;
    if (sealed === null || this.#ended) return;
    const opened = sealed.open(bytes);
    this.#received = this.#received.then(async () => {
      const frame = await opened;
      if (this.#ended) return;
      if (frame === null) {
        this.#lost();
        return;
      }
      if (!this.#open) {
        this.#open = true;
        this.events.opened();
      }
      this.events.received(frame);
    });
  }

  /** Does nothing, because the server's socket has no event for sent bytes. */
  notice(): void {}

  close(): void {
    this.#ended = true;
  }

  #lost(): void {
    this.#ended = true;
    this.events.closed();
  }
}
