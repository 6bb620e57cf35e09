/** One way to one peer while it stands: frames in, frames out. A data channel and the sealed relay are two of them. */

import type { SignalBody } from "../../protocol/mesh/signals";
import type { Way } from "../../protocol/wire/mesh";

/** What a frame's envelope takes at most, beside the data of its chunk. */
const ENVELOPE_BYTES = 256;
/** Data channels are safe with messages up to this size. */
export const MOST_MESSAGE_BYTES = 16 * 1024;
/** What the server relays at once. */
export const MOST_PARCEL_BYTES = 64 * 1024;

/** The ways that a browser can go. */
export type BrowserWay = Exclude<Way, "websocket">;

export interface ChannelEvents {
  /** The other end answered, and frames may go both ways. */
  opened(): void;
  received(frame: Uint8Array): void;
  /** It ended, or did not come about; nothing follows. */
  closed(): void;
  /** Less waits to be sent than before; on a way that can tell, as soon as that is less than what `notice` named. */
  drained(): void;
}

export interface Channel {
  readonly way: BrowserWay;
  /** What the signals of this attempt have in common. */
  readonly session: Uint8Array;
  readonly open: boolean;
  /** Bytes that wait to be sent. */
  readonly buffered: number;
  /** Bytes of data that a chunk's frame may have. */
  readonly room: number;
  /** Says what this end has to say first: of all, or as an answer. */
  begin(): Promise<void>;
  /** What the other end says about this attempt, in the order in which it said it. */
  receiveSignal(body: SignalBody): Promise<void>;
  /** Frames keep their order among those with the same `bulk`. */
  send(frame: Uint8Array<ArrayBuffer>, bulk: boolean): void;
  /** Somebody wants to hear when fewer than `below` bytes wait. */
  notice(below: number): void;
  /** Ends it without a report. */
  close(): void;
}

/** Data of a chunk whose frame has `most` bytes in all. */
export function roomIn(most: number): number {
  return most - ENVELOPE_BYTES;
}
