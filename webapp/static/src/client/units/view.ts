/** What the page of a task of work units shows of its session. */

import type { UnitClientState } from "../../protocol/units/unit-client";
import { NOTHING_SHOWN, type SessionView } from "../session/session-loop";
import type { ShownUnit } from "./unit-history";

/** Times are those of `performance.now()`. */
export interface UnitsView extends SessionView {
  readonly machine: UnitClientState;
  /** The newest last. */
  readonly pieces: readonly ShownUnit[];
  /** It does what it has, takes no more, and then stops. */
  readonly finishing: boolean;
}

/** What the session itself has to show. */
export type ShownUnitsState = Omit<UnitsView, "machine">;

export const NOTHING: ShownUnitsState = {
  ...NOTHING_SHOWN,
  pieces: [],
  finishing: false,
};
