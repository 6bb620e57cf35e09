/** The history of a session's units, for its page. Pure functions from list to list. */

import type { UnitClientState } from "../../protocol/units/unit-client";
import type { Unit } from "../../protocol/units/unit-client-events";
import type { ServerToUnits } from "../../protocol/wire/units";

/** The server's verdict on a unit; null while the client works on it, and after it was given back. */
type UnitVerdict =
  | "checked"
  | "compared"
  | "blended"
  | "overwritten"
  | "counted"
  | "rejected"
  | "dropped"
  | null;

export interface ShownUnit {
  readonly lease: number;
  readonly unit: number;
  readonly epoch: number;
  readonly examples: number;
  readonly verdict: UnitVerdict;
  /** Why the unit does not count, or is not needed. */
  readonly reason: string | null;
}

/** The state of a unit as a page shows it. */
export type UnitActivity = Exclude<UnitVerdict, null> | "waiting" | "training" | "sending" | "released";

/** The number of finished units that are shown, besides those in hand. */
const SHOWN = 8;

/** Returns the list after `frame`, the newest unit last. */
export function historyAfter(pieces: readonly ShownUnit[], frame: ServerToUnits): readonly ShownUnit[] {
  switch (frame.type) {
    case "unit":
      return addUnit(pieces, frame);
    case "taken":
      return setVerdict(pieces, frame.lease, frame.waits ? "compared" : "checked");
    case "counted":
      return setVerdict(pieces, frame.lease, frame.blended ? "blended" : "counted");
    case "rejected":
      return setVerdict(pieces, frame.lease, "rejected", frame.reason);
    case "drop":
      return dropUnit(pieces, frame.lease, frame.reason);
    default:
      return pieces;
  }
}

/** Adds a unit. A repeated one replaces itself. */
function addUnit(pieces: readonly ShownUnit[], { lease, unit, epoch, examples }: Unit): readonly ShownUnit[] {
  const others = pieces.filter((one) => one.lease !== lease);
  return [...others, { lease, unit, epoch, examples, verdict: null, reason: null }];
}

/** A unit that counts already is not dropped: another result overwrote it in the model. */
function dropUnit(pieces: readonly ShownUnit[], lease: number, reason: string): readonly ShownUnit[] {
  const counts = pieces.some((one) => one.lease === lease && one.verdict === "blended");
  return setVerdict(pieces, lease, counts ? "overwritten" : "dropped", reason);
}

function setVerdict(
  pieces: readonly ShownUnit[],
  lease: number,
  word: UnitVerdict,
  reason: string | null = null,
) {
  return pieces.map((one) => (one.lease === lease ? { ...one, verdict: word, reason } : one));
}

/** Returns the current state of a unit. */
export function activityOf({ lease, verdict }: ShownUnit, { units }: UnitClientState): UnitActivity {
  if (verdict !== null) return verdict;
  switch (units.find(({ unit }) => unit.lease === lease)?.stage) {
    case "training":
      return "training";
    case "sending":
      return "sending";
    case undefined:
      return "released";
    default:
      return "waiting";
  }
}

/** Removes the oldest units that have left this device: hundreds may wait to be compared. */
export function recentUnits(pieces: readonly ShownUnit[], state: UnitClientState): readonly ShownUnit[] {
  const open = new Set<UnitActivity>(["waiting", "training", "sending"]);
  const finished = pieces.filter((one) => !open.has(activityOf(one, state)));
  const tooOld = new Set(finished.slice(0, Math.max(0, finished.length - SHOWN)));
  return pieces.filter((one) => !tooOld.has(one));
}
