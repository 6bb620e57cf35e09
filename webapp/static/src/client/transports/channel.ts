/** One open way to one peer: frames in, frames out. Data channels and the sealed relay implement it. */

import type { SignalBody } from "../../protocol/mesh/signals";
import type { Way } from "../../protocol/wire/mesh";

/** The largest envelope of a frame, beside the data of its chunk. */
const ENVELOPE_BYTES = 256;
/** Data channels are safe with messages up to this size. */
export const MOST_MESSAGE_BYTES = 16 * 1024;
/** The largest parcel that the server relays. */
export const MOST_PARCEL_BYTES = 64 * 1024;

/** The ways that a browser supports. */
export type BrowserWay = Exclude<Way, "websocket">;

export interface ChannelEvents {
  /** The other end answered, and frames may be sent both ways. */
  opened(): void;
  received(frame: Uint8Array): void;
  /** The channel ended, or did not open; no event follows. */
  closed(): void;
  /**
   * Fewer bytes wait than before. A channel that can notice it reports as soon as they are fewer than `notice` set.
   */
  drained(): void;
}

export interface Channel {
  readonly way: BrowserWay;
  /** The number that all signals of this attempt have in common. */
  readonly session: Uint8Array;
  readonly open: boolean;
  /** Bytes that wait to be sent. */
  readonly buffered: number;
  /** Bytes of data that a chunk's frame may have. */
  readonly room: number;
  /** Sends this end's first signals: to begin, or as an answer. */
  begin(): Promise<void>;
  /** Takes the other end's signals for this attempt, in the order in which they were sent. */
  receiveSignal(body: SignalBody): Promise<void>;
  /** Frames keep their order among those with the same `bulk`. */
  send(frame: Uint8Array<ArrayBuffer>, bulk: boolean): void;
  /** Requests a report when fewer than `below` bytes wait. */
  notice(below: number): void;
  /** Ends the channel without a report. */
  close(): void;
}

/** Returns the bytes of data in a chunk whose frame has `maximum` bytes in all. */
export function roomIn(maximum: number): number {
  return maximum - ENVELOPE_BYTES;
}
