/** What a session in a mesh has to show. */

import type { State } from "../../protocol/mesh/member";
import type { Neighbour, ServerToPeer } from "../../protocol/wire/mesh";
import { NOTHING_SHOWN, type Shown as ShownByAll } from "../session/session-loop";
import type { LinkView } from "../transports/links";
import type { GroupView } from "./averager";
import type { OnwardView } from "./serverless-runner";

/** What the page shows. Times are those of `performance.now()`. */
export interface MeshView extends ShownByAll {
  readonly machine: State;
  readonly task: Extract<ServerToPeer, { readonly type: "state" }> | null;
  readonly taskAt: number;
  /** Everybody in the mesh, this peer included. */
  readonly members: readonly Neighbour[];
  readonly links: readonly LinkView[];
  /** Peers that came with another identity than before. */
  readonly strangers: readonly string[];
  readonly group: GroupView | null;
  /** How the peers do without the server; null before the first connection to it. */
  readonly onward: OnwardView | null;
  /** Examples of all groups that this peer ended with. */
  readonly examples: number;
}

/** What the session itself has to show. */
export type Shown = Omit<MeshView, "machine" | "members" | "links" | "strangers" | "group" | "onward">;

/** Before anything happened. */
export const NOTHING: Shown = {
  ...NOTHING_SHOWN,
  task: null,
  taskAt: 0,
  examples: 0,
};
