/** The messages between a mesh's server and its peers, and among the peers; docs/reference/mesh-on-the-wire.md is the specification. */

import { encode } from "@msgpack/msgpack";
import type { Checked, MessageOf } from "./fields";
import type { byzantineRules, byzantineTerms } from "./generated/byzantine-messages";
import { CHUNK_BYTES } from "./generated/fields";
import {
  MESH_PROTOCOL,
  MOST_IN_CHAIN,
  MOST_IN_GROUP,
  MOST_IN_MESH,
  type outer,
  type way,
} from "./generated/mesh-fields";
import {
  type certificate,
  type measure,
  type neighbour,
  peerToServer,
  serverToPeer,
} from "./generated/mesh-messages";
import { peerFrame } from "./generated/peer-messages";
import { MAX_SERVER_FRAME, reader } from "./messages";

export { MESH_PROTOCOL, MOST_IN_CHAIN, MOST_IN_GROUP, MOST_IN_MESH };

export const MAX_TO_SERVER = (1 << 17) + 1024;
export const MAX_PEER_FRAME = CHUNK_BYTES + 1024;

export type Way = Checked<typeof way>;
export type PushSumMeasure = Checked<typeof measure>;
export type Certificate = Checked<typeof certificate>;
export type Outer = Checked<typeof outer>;
export type ByzantineRules = Checked<typeof byzantineRules>;
export type ByzantineTerms = Checked<typeof byzantineTerms>;
export type NeighbourInfo = Checked<typeof neighbour>;
export type PeerToServer = MessageOf<typeof peerToServer>;
export type ServerToPeer = MessageOf<typeof serverToPeer>;
export type PeerFrame = MessageOf<typeof peerFrame>;
/** Frames of rounds without the server: docs/decisions/0033-without-a-server.md. */
export type ServerlessFrame = Extract<
  PeerFrame,
  { readonly type: "unattended" | "set_out" | "attended" | "trained" | "group" | "evaluation" }
>;
/** Frames of rounds whose members check each other: docs/decisions/0101-byzantine-rounds.md. */
export type ByzantineFrame = Extract<
  PeerFrame,
  { readonly type: "say" | "show" | "ask_state" | "tell_state" | "tell_evidence" }
>;
export type GroupFrame = Exclude<
  PeerFrame,
  ServerlessFrame | ByzantineFrame | { readonly type: "beat" | "pass" | "passed" | "fetch" | "weights" }
>;
type AnyMeshFrame = PeerToServer | ServerToPeer | PeerFrame;
export type GroupOrder = Extract<ServerToPeer, { readonly type: "group" }>;

/** Encodes a message of any direction as a frame. */
export function encodeMesh(message: AnyMeshFrame): Uint8Array<ArrayBuffer> {
  return encode(message);
}

/** Decodes a peer's message to its server. Throws FrameError on anything else. */
export const decodeToServer: (frame: Uint8Array) => PeerToServer = reader(peerToServer, MAX_TO_SERVER);

/** Decodes a message of a mesh's server. Throws FrameError on anything else. */
export const decodeToPeer: (frame: Uint8Array) => ServerToPeer = reader(serverToPeer, MAX_SERVER_FRAME);

/** Decodes a message of another peer. Throws FrameError on anything else. */
export const decodePeer: (frame: Uint8Array) => PeerFrame = reader(peerFrame, MAX_PEER_FRAME);
