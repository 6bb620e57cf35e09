/** What all neighbours of a peer share. */

import type { Identity } from "../../core/crypto/keys";
import type { PeerFrame, Way } from "../../protocol/wire/mesh";

/** Who this peer is, what brings signals and parcels to others, and whom it tells what becomes of links. */
export interface LinkContext {
  readonly task: string;
  readonly own: string;
  readonly identity: Identity;
  readonly configuration: RTCConfiguration;
  /** Takes a signal along, through the server or through other peers. */
  carry(client: string, signal: Uint8Array<ArrayBuffer>): void;
  relay(client: string, parcel: Uint8Array<ArrayBuffer>): void;
  relayBuffered(): number;
  /** Patience of the group in hand; null outside of groups. */
  patience(): number | null;
  now(): number;
  up(client: string, way: Way): void;
  down(client: string): void;
  received(client: string, frame: PeerFrame): void;
  silent(client: string): void;
  drained(client: string): void;
}
