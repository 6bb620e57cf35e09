/** The data of a session that the page of a task with work units shows. */

import type { UnitClientState } from "../../protocol/units/unit-client";
import { NOTHING_SHOWN, type SessionView } from "../session/session-loop";
import type { ShownUnit } from "./unit-history";

/** Times are those of `performance.now()`. */
export interface UnitsView extends SessionView {
  readonly machine: UnitClientState;
  /** The session's units, the newest last. */
  readonly units: readonly ShownUnit[];
  /** Whether it finishes the units in hand, takes no more, and then stops. */
  readonly finishing: boolean;
  /** How long the last unit was trained; 0 before the first. */
  readonly unitSeconds: number;
}

/** The view's data that the session itself keeps. */
export type ShownUnitsState = Omit<UnitsView, "machine">;

export const NOTHING: ShownUnitsState = {
  ...NOTHING_SHOWN,
  units: [],
  finishing: false,
  unitSeconds: 0,
};
