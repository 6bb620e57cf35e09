/** The messages between a task's server and its work-unit clients; docs/reference/units-on-the-wire.md is the specification. */

import { encode } from "@msgpack/msgpack";
import type { Checked, MessageOf } from "./fields";
import { CHUNK_BYTES } from "./generated/fields";
import {
  type cause,
  MOST_HELD,
  MOST_SLOTS,
  serverToUnits,
  UNITS_PROTOCOL,
  unitsToServer,
} from "./generated/unit-messages";
import { MAX_SERVER_FRAME, reader } from "./messages";

export { MOST_HELD, MOST_SLOTS, UNITS_PROTOCOL };

export const MAX_UNITS_FRAME = CHUNK_BYTES + 1024;

/** Why a client gives a unit back. */
export type Cause = Checked<typeof cause>;
export type UnitsToServer = MessageOf<typeof unitsToServer>;
export type ServerToUnits = MessageOf<typeof serverToUnits>;
export type UnitsFrameOf<Tag extends (UnitsToServer | ServerToUnits)["type"]> = Extract<
  UnitsToServer | ServerToUnits,
  { readonly type: Tag }
>;

/** Encodes a message of either direction as a frame. */
export function encodeUnits(message: UnitsToServer | ServerToUnits): Uint8Array<ArrayBuffer> {
  return encode(message);
}

/** Decodes a client's message. Throws FrameError on anything else. */
export const decodeUnits: (frame: Uint8Array) => UnitsToServer = reader(unitsToServer, MAX_UNITS_FRAME);

/** Decodes a message of the server. Throws FrameError on anything else. */
export const decodeToUnits: (frame: Uint8Array) => ServerToUnits = reader(serverToUnits, MAX_SERVER_FRAME);
