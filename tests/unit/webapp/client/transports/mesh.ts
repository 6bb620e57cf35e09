/** Peers of one mesh in one process, and what their task's server does for them: it hands on what one has for another. */

import { type IdentityStore, TrustStore } from "../../../../../webapp/static/src/client/session/trust-store";
import { LinkManager, type PeerMessage } from "../../../../../webapp/static/src/client/transports/links";
import { type Identity, makeIdentity } from "../../../../../webapp/static/src/core/crypto/keys";
import type { NeighbourInfo } from "../../../../../webapp/static/src/protocol/wire/mesh";

export interface Peer {
  readonly client: string;
  readonly identity: Identity;
  readonly links: LinkManager;
  /** What was reported, in words. */
  readonly told: string[];
  readonly received: { readonly from: string; readonly frame: PeerMessage }[];
  /** What else is done with what comes, and when a link is gone. */
  hear: (from: string, frame: PeerMessage) => void;
  lost: (client: string) => void;
}

function shelf<T>(): IdentityStore<T> {
  const things = new Map<string, T>();
  const get = async (name: string) => things.get(name);
  const putFirst = async (name: string, thing: T) => {
    things.set(name, things.get(name) ?? thing);
    return things.get(name) ?? thing;
  };
  return { get, putFirst };
}

export class Mesh {
  readonly peers: Peer[] = [];
  /** Whether the server is there. */
  up = true;
  /** What waits while the network stands still; null while it runs. */
  #waiting: (() => void)[] | null = null;
  /** All parcels that it relayed. */
  readonly parcels: Uint8Array[] = [];
  /** What becomes of parcels on their way. */
  tamper: (parcel: Uint8Array) => Uint8Array = (parcel) => parcel;

  async add(client: string): Promise<Peer> {
    const identity = await makeIdentity((count) => crypto.getRandomValues(new Uint8Array(count)));
    const told: string[] = [];
    const received: Peer["received"] = [];
    const links = new LinkManager({
      task: "digits",
      client,
      identity,
      identities: new TrustStore(shelf<Identity>(), shelf<Uint8Array>()),
      ice: [],
      signal: (to, data) => this.#hand((peer) => peer.links.signalled(client, data), to),
      relay: (to, data) => {
        this.parcels.push(data);
        this.#hand((peer) => peer.links.relayed(client, this.tamper(data)), to);
      },
      relayBuffered: () => 0,
      up: (other, way) => told.push(`up ${other} ${way}`),
      down: (other) => {
        told.push(`down ${other}`);
        peer.lost(other);
      },
      received: (from, frame) => {
        received.push({ from, frame });
        peer.hear(from, frame);
      },
      silent: (other) => told.push(`silent ${other}`),
    });
    const ignore = () => undefined;
    const peer: Peer = { client, identity, links, told, received, hear: ignore, lost: ignore };
    this.peers.push(peer);
    return peer;
  }

  /** Tells all who is here. */
  introduce(): void {
    const members = this.peers.map((peer) => this.member(peer));
    for (const { links } of this.peers) links.setMembers(members);
  }

  member({ client, identity }: Peer): NeighbourInfo {
    const { publicKey } = identity;
    const ways = ["relay"] as const;
    return {
      client,
      identity: publicKey,
      kind: "peer",
      backend: "cpu",
      ways,
      address: null,
      round: 0,
      holds: null,
    };
  }

  /** Nothing arrives until `goOn`, and nothing is lost. */
  standStill(): void {
    this.#waiting = [];
  }

  goOn(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    for (const bring of waiting) setTimeout(bring, 0);
  }

  close(): void {
    for (const { links } of this.peers) links.close();
  }

  #hand(deliver: (peer: Peer) => void, to: string): boolean {
    if (!this.up) return false;
    const peer = this.peers.find(({ client }) => client === to);
    const bring = () => peer && deliver(peer);
    if (this.#waiting) this.#waiting.push(bring);
    else setTimeout(bring, 0);
    return true;
  }
}
