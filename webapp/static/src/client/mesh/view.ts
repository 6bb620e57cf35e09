/** The data of a mesh session that its page shows. */

import type { MemberState } from "../../protocol/mesh/member";
import type { NeighbourInfo, ServerToPeer } from "../../protocol/wire/mesh";
import { NOTHING_SHOWN, type SessionView } from "../session/session-loop";
import type { LinkView } from "../transports/links";
import type { ByzantineView } from "./byzantine/view";
import type { GroupView } from "./result-signer";
import type { ServerlessView } from "./serverless-runner";

/** What the page shows. Times are those of `performance.now()`. */
export interface MeshView extends SessionView {
  readonly machine: MemberState;
  readonly task: Extract<ServerToPeer, { readonly type: "state" }> | null;
  readonly taskAt: number;
  /** All peers of the mesh, this one included. */
  readonly members: readonly NeighbourInfo[];
  readonly links: readonly LinkView[];
  /** Peers that presented another identity than before. */
  readonly strangers: readonly string[];
  readonly group: GroupView | null;
  /** The state of rounds without the server; null before the first connection to it. */
  readonly serverless: ServerlessView | null;
  /** The membership in a mesh whose members check each other; null in another one. */
  readonly byzantine: ByzantineView | null;
  /** Examples in all groups that ended with a result for this peer. */
  readonly examples: number;
}

/** The view's data that the session itself keeps. */
export type ShownMeshState = Omit<
  MeshView,
  "machine" | "members" | "links" | "strangers" | "group" | "serverless" | "byzantine"
>;

/** The view's data before the first event. */
export const NOTHING: ShownMeshState = {
  ...NOTHING_SHOWN,
  task: null,
  taskAt: 0,
  examples: 0,
};
