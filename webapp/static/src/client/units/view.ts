/** What the page of a task of work units shows of its session. */

import type { State } from "../../protocol/units/unit-client";
import { NOTHING_SHOWN, type Shown as ShownByAll } from "../session/session-loop";
import type { Piece } from "./unit-history";

/** Times are those of `performance.now()`. */
export interface UnitsView extends ShownByAll {
  readonly machine: State;
  /** The newest last. */
  readonly pieces: readonly Piece[];
  /** It does what it has, takes no more, and then stops. */
  readonly finishing: boolean;
}

/** What the session itself has to show. */
export type Shown = Omit<UnitsView, "machine">;

export const NOTHING: Shown = {
  ...NOTHING_SHOWN,
  pieces: [],
  finishing: false,
};
