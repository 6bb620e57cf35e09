/** The context that all neighbours of a peer share. */

import type { Identity } from "../../core/crypto/keys";
import type { PeerFrame, Way } from "../../protocol/wire/mesh";

/** This peer's identity, the carriers of its signals and parcels, and the listener to its links. */
export interface LinkContext {
  readonly task: string;
  readonly own: string;
  readonly identity: Identity;
  readonly configuration: RTCConfiguration;
  /** Carries a signal through the server or through other peers. */
  carry(client: string, signal: Uint8Array<ArrayBuffer>): void;
  relay(client: string, parcel: Uint8Array<ArrayBuffer>): void;
  relayBuffered(): number;
  /** Returns the patience of the current group; null outside of groups. */
  patience(): number | null;
  now(): number;
  up(client: string, way: Way): void;
  down(client: string): void;
  received(client: string, frame: PeerFrame): void;
  silent(client: string): void;
  drained(client: string): void;
}
