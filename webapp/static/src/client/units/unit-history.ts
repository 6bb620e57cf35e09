/** What became of the units of this visit, for people. Pure: a list in, a list out. */

import type { UnitClientState } from "../../protocol/units/unit-client";
import type { Unit } from "../../protocol/units/unit-client-events";
import type { ServerToUnits } from "../../protocol/wire/units";

/** What the server said of a unit; null while it is at work, and after it was given back. */
type UnitVerdict = "checked" | "compared" | "blended" | "counted" | "rejected" | "dropped" | null;

export interface ShownUnit {
  readonly lease: number;
  readonly unit: number;
  readonly epoch: number;
  readonly examples: number;
  readonly verdict: UnitVerdict;
  /** Why it does not count, or is not needed. */
  readonly reason: string | null;
}

/** What a page says of a unit. */
export type UnitActivity = Exclude<UnitVerdict, null> | "waiting" | "training" | "sending" | "released";

/** So many of the newest are shown, besides those in hand. */
const SHOWN = 8;

/** The list after `frame`, the newest last. */
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
      return setVerdict(pieces, frame.lease, "dropped", frame.reason);
    default:
      return pieces;
  }
}

/** A unit that the server repeats is the one that is here. */
function addUnit(pieces: readonly ShownUnit[], { lease, unit, epoch, examples }: Unit): readonly ShownUnit[] {
  const others = pieces.filter((one) => one.lease !== lease);
  return [...others, { lease, unit, epoch, examples, verdict: null, reason: null }];
}

function setVerdict(
  pieces: readonly ShownUnit[],
  lease: number,
  word: UnitVerdict,
  reason: string | null = null,
) {
  return pieces.map((one) => (one.lease === lease ? { ...one, verdict: word, reason } : one));
}

/** What happens with `piece` now. */
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

/** Without the oldest of those that are out of this device's hands: hundreds may wait to be compared. */
export function recent(pieces: readonly ShownUnit[], state: UnitClientState): readonly ShownUnit[] {
  const open = new Set<UnitActivity>(["waiting", "training", "sending"]);
  const over = pieces.filter((one) => !open.has(activityOf(one, state)));
  const tooOld = new Set(over.slice(0, Math.max(0, over.length - SHOWN)));
  return pieces.filter((one) => !tooOld.has(one));
}
