/** A link through the task's server, which sees how much is said and when, and nothing of what. */

import type { Bytes } from "../../core/crypto/bytes";
import { type KeyPair, keyPair } from "../../core/crypto/keys";
import { type LinkEnds, SealedLink, TAG_BYTES } from "../../core/crypto/sealed-link";
import type { SignalBody } from "../../protocol/mesh/signals";
import { type Channel, type ChannelEvents, MOST_PARCEL_BYTES, roomIn } from "./channel";

/** The server's part of it. */
export interface ParcelRelay {
  send(parcel: Bytes): void;
  /** Bytes on their way to the server, of all peers. */
  readonly buffered: number;
}

export class RelayedLink implements Channel {
  readonly way = "relay";
  readonly room = roomIn(MOST_PARCEL_BYTES - TAG_BYTES);
  readonly #keys: Promise<KeyPair> = keyPair(crypto.getRandomValues(new Uint8Array(32)));
  #sealed: SealedLink | null = null;
  /** The other end has the same keys: a frame of it could be opened. */
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
    /** The first frame, by which the other end knows that this one has the keys. */
    private readonly greeting: () => Uint8Array<ArrayBuffer>,
    private readonly events: ChannelEvents,
  ) {}

  get open(): boolean {
    return this.#open && !this.#ended;
  }

  get buffered(): number {
    return this.#sealing + this.relay.buffered;
  }

  /** Sends this end's key: first of all, or as an answer. */
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

  /** What the server brought from the other end; before the keys are there it is of an older link. */
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

  /** The server's socket does not say when it has sent what it was given. */
  notice(): void {}

  close(): void {
    this.#ended = true;
  }

  #lost(): void {
    this.#ended = true;
    this.events.closed();
  }
}
