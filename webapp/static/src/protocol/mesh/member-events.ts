/** What the host of a mesh's member tells the machine, and what the machine asks of it. */

import type { ContactEffect, ContactEvent } from "../client/connection";
import type { ExamEffect, Measured } from "../client/evaluation";
import type { Evaluate, Ready, RoundEffect, Train } from "../rounds/participant-events";
import type { Certificate, GroupOrder, PeerToServer, ServerToPeer } from "../wire/mesh";

type Said<Tag extends PeerToServer["type"]> = Extract<PeerToServer, { readonly type: Tag }>;
export type Enter = Said<"enter">;
export type Trained = Said<"trained">;
export type Averaged = Said<"averaged">;
export type Failed = Said<"failed">;
/** What stands for what the server would have said. */
export type Agreement = Train | GroupOrder | Evaluate;
export type Entered = Extract<ServerToPeer, { readonly type: "entered" }>;

/** What the host tells the machine. */
export type Event =
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
  | Omit<Trained, "base">
  /** The group of the last `average` ended with `weights`, which this peer holds from now on. */
  | Averaged
  /** That group has no result for this peer. */
  | Failed
  /** More than half of a group's survivors signed the weights that it ended with. */
  | { readonly type: "certified"; readonly certificate: Certificate }
  | Measured;

/** What the machine asks of the host, in order. */
export type Effect =
  | ContactEffect<PeerToServer>
  | RoundEffect
  | ExamEffect
  /** Average what was trained last with the members of this group; then report `averaged` or `failed`. */
  | { readonly type: "average"; readonly group: GroupOrder }
  /** Leave the group in hand; the others go on without this peer. */
  | { readonly type: "abort_averaging" }
  /** Bring the server these weights, if they are here. */
  | { readonly type: "deposit"; readonly weights: string };
