/** What the host of a mesh's member tells the machine, and what the machine asks of it. */

import type { ContactEffect, ContactEvent } from "../client/connection";
import type { Evaluate, EvaluationEffect, VersionMeasured } from "../client/evaluation";
import type { Ready, RoundEffect, Train } from "../rounds/participant-events";
import type { Certificate, GroupOrder, PeerToServer, ServerToPeer } from "../wire/mesh";

type PeerFrameTo<Tag extends PeerToServer["type"]> = Extract<PeerToServer, { readonly type: Tag }>;
export type Enter = PeerFrameTo<"enter">;
export type PlanTrained = PeerFrameTo<"trained">;
export type GroupAveraged = PeerFrameTo<"averaged">;
export type GroupFailed = PeerFrameTo<"failed">;
/** What stands for what the server would have said. */
export type Agreement = Train | GroupOrder | Evaluate;
export type Entered = Extract<ServerToPeer, { readonly type: "entered" }>;

/** What the host tells the machine. */
export type MemberEvent =
  /** Take part from now on; `enter` is sent on every connection, with what has become of its peer since. */
  | { readonly type: "start"; readonly enter: Enter }
  | ContactEvent
  /** The server said something. Introductions (members, signals, parcels) need not be reported. */
  | { readonly type: "frame"; readonly frame: ServerToPeer }
  /** The peers agreed on it among themselves, as the server is away (protocol/mesh/serverless/rounds.ts). */
  | { readonly type: "agreed"; readonly frame: Agreement }
  /** The bundle of the last `load` is ready. */
  | ({ readonly type: "loaded" } & Omit<Ready, "type">)
  /** The plan of `round` is done, perhaps with fewer steps than planned; never without one, nor after `abort_training`. */
  | Omit<PlanTrained, "base">
  /** The group of the last `average` ended with `weights`, which this peer holds from now on. */
  | GroupAveraged
  /** That group has no result for this peer. */
  | GroupFailed
  /** More than half of a group's survivors signed the weights that it ended with. */
  | { readonly type: "certified"; readonly certificate: Certificate }
  | VersionMeasured;

/** What the machine asks of the host, in order. */
export type MemberEffect =
  | ContactEffect<PeerToServer>
  | RoundEffect
  | EvaluationEffect
  /** Average what was trained last with the members of this group; then report `averaged` or `failed`. */
  | { readonly type: "average"; readonly group: GroupOrder }
  /** Leave the group in hand; the others go on without this peer. */
  | { readonly type: "abort_averaging" }
  /** Bring the server these weights, if they are here. */
  | { readonly type: "deposit"; readonly weights: string };
