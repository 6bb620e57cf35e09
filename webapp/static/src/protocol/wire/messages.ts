/**
 * The messages on a task's socket. docs/reference/rounds-on-the-wire.md is the specification; the messages are those of backend/wire.
 *
 * Frames are msgpack maps whose key `type` holds the tag. Vectors are little-endian float32. Durations are seconds,
 * sizes are bytes, hashes are lower-case hexadecimal SHA-256.
 */

import { encode } from "@msgpack/msgpack";
import { type Checked, FrameError, type MessageOf, type Messages, tagged } from "./fields";
import { CHUNK_BYTES, PROTOCOL } from "./generated/fields";
import { clientFrame, type participant, serverFrame } from "./generated/messages";
import { unpack } from "./msgpack";

export { CHUNK_BYTES, FrameError, PROTOCOL };

/** A chunk and its envelope; every other message is far smaller. */
export const MAX_CLIENT_FRAME = CHUNK_BYTES + 1024;
export const MAX_SERVER_FRAME = 1 << 20;

export type Participant = Checked<typeof participant>;
export type ClientFrame = MessageOf<typeof clientFrame>;
export type ServerFrame = MessageOf<typeof serverFrame>;
export type FrameOf<Tag extends (ClientFrame | ServerFrame)["type"]> = Extract<
  ClientFrame | ServerFrame,
  { readonly type: Tag }
>;

/** Encodes a message of either direction as a frame. */
export function encodeFrame(message: ClientFrame | ServerFrame): Uint8Array<ArrayBuffer> {
  return encode(message);
}

/** Decodes a client's message. Throws FrameError on anything else. */
export const decodeClient: (frame: Uint8Array) => ClientFrame = reader(clientFrame, MAX_CLIENT_FRAME);

/** Decodes a message of the server. Throws FrameError on anything else. */
export const decodeServer: (frame: Uint8Array) => ServerFrame = reader(serverFrame, MAX_SERVER_FRAME);

/** Makes a decoder of frames of at most `limit` bytes that hold one of these messages. */
export function reader<M extends Messages>(messages: M, limit: number): (frame: Uint8Array) => MessageOf<M> {
  const check = tagged(messages);
  return (frame) => check(unpackFrame(frame, limit), "the frame");
}

/** Decodes the bytes of a frame before they are checked. Throws FrameError. */
export function unpackFrame(frame: Uint8Array, limit: number): unknown {
  if (frame.length > limit) {
    throw new FrameError(`The frame has ${frame.length} bytes; at most ${limit} are allowed.`);
  }
  try {
    return unpack(frame);
  } catch (error) {
    // The decoder throws several kinds of errors; all mean that these bytes are not msgpack.
    throw new FrameError(`The frame is not a message of this protocol: ${String(error)}`);
  }
}
