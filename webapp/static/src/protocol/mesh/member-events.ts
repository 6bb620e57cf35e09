/** Events that the host of a mesh's member reports to the machine, and effects that the machine asks for. */

import type { ConnectionEffect, ConnectionEvent } from "../client/connection";
import type { Evaluate, EvaluationEffect, VersionMeasured } from "../client/evaluation";
import type { Ready, RoundEffect, Train } from "../rounds/participant-events";
import type { Certificate, GroupOrder, PeerToServer, ServerToPeer } from "../wire/mesh";

type PeerFrameTo<Tag extends PeerToServer["type"]> = Extract<PeerToServer, { readonly type: Tag }>;
export type Enter = PeerFrameTo<"enter">;
export type PlanTrained = PeerFrameTo<"trained">;
export type GroupAveraged = PeerFrameTo<"averaged">;
export type GroupFailed = PeerFrameTo<"failed">;
/** A frame that the peers agreed on in place of the server's. */
export type Agreement = Train | GroupOrder | Evaluate;
export type Entered = Extract<ServerToPeer, { readonly type: "entered" }>;

/** An event that the host reports to the machine. */
export type MemberEvent =
  /** Take part from now on. `enter` is sent on every connection, with the peer's current state. */
  | { readonly type: "start"; readonly enter: Enter }
  | ConnectionEvent
  /** The server sent a frame. Frames for the links (members, signals, parcels) need not be reported. */
  | { readonly type: "frame"; readonly frame: ServerToPeer }
  /** The peers agreed on this frame while the server is away (protocol/mesh/serverless/rounds.ts). */
  | { readonly type: "agreed"; readonly frame: Agreement }
  /** The bundle of the last `load` is ready. */
  | ({ readonly type: "loaded" } & Omit<Ready, "type">)
  /**
   * The plan of `round` is done, perhaps with fewer steps than planned, but never with none. Never reported after
   * `abort_training`.
   */
  | Omit<PlanTrained, "base">
  /** The group of the last `average` ended with `weights`, which this peer holds from now on. */
  | GroupAveraged
  /** The group has no result for this peer. */
  | GroupFailed
  /** As many survivors of a group as it needs signed the weights that it ended with. */
  | { readonly type: "certified"; readonly certificate: Certificate }
  | VersionMeasured;

/** An effect that the machine asks of the host. Effects are performed in order. */
export type MemberEffect =
  | ConnectionEffect<PeerToServer>
  | RoundEffect
  | EvaluationEffect
  /** Average the last training's result with the members of this group; then report `averaged` or `failed`. */
  | { readonly type: "average"; readonly group: GroupOrder }
  /** Leave the current group; the others continue without this peer. */
  | { readonly type: "abort_averaging" }
  /** Send the server these weights, if this peer has them. */
  | { readonly type: "deposit"; readonly weights: string };
