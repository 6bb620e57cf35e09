/** What a session in a mesh has to show. */

import type { MemberState } from "../../protocol/mesh/member";
import type { NeighbourInfo, ServerToPeer } from "../../protocol/wire/mesh";
import { NOTHING_SHOWN, type SessionView } from "../session/session-loop";
import type { LinkView } from "../transports/links";
import type { GroupView } from "./averager";
import type { ServerlessView } from "./serverless-runner";

/** What the page shows. Times are those of `performance.now()`. */
export interface MeshView extends SessionView {
  readonly machine: MemberState;
  readonly task: Extract<ServerToPeer, { readonly type: "state" }> | null;
  readonly taskAt: number;
  /** Everybody in the mesh, this peer included. */
  readonly members: readonly NeighbourInfo[];
  readonly links: readonly LinkView[];
  /** Peers that came with another identity than before. */
  readonly strangers: readonly string[];
  readonly group: GroupView | null;
  /** How the peers do without the server; null before the first connection to it. */
  readonly serverless: ServerlessView | null;
  /** Examples of all groups that this peer ended with. */
  readonly examples: number;
}

/** What the session itself has to show. */
export type ShownMeshState = Omit<
  MeshView,
  "machine" | "members" | "links" | "strangers" | "group" | "serverless"
>;

/** Before anything happened. */
export const NOTHING: ShownMeshState = {
  ...NOTHING_SHOWN,
  task: null,
  taskAt: 0,
  examples: 0,
};
