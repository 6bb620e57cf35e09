/** What became of the units of this visit, for people. Pure: a list in, a list out. */

import type { State } from "../../protocol/units/unit-client";
import type { Unit } from "../../protocol/units/unit-client-events";
import type { ServerToUnits } from "../../protocol/wire/units";

/** What the server said of a unit; null while it is at work, and after it was given back. */
type Said = "checked" | "compared" | "blended" | "counted" | "rejected" | "dropped" | null;

export interface Piece {
  readonly lease: number;
  readonly unit: number;
  readonly epoch: number;
  readonly examples: number;
  readonly said: Said;
  /** Why it does not count, or is not needed. */
  readonly reason: string | null;
}

/** What a page says of a unit. */
export type Doing = Exclude<Said, null> | "waiting" | "training" | "sending" | "released";

/** So many of the newest are shown, besides those in hand. */
const SHOWN = 8;

/** The list after `frame`, the newest last. */
export function heard(pieces: readonly Piece[], frame: ServerToUnits): readonly Piece[] {
  switch (frame.type) {
    case "unit":
      return added(pieces, frame);
    case "taken":
      return said(pieces, frame.lease, frame.waits ? "compared" : "checked");
    case "counted":
      return said(pieces, frame.lease, frame.blended ? "blended" : "counted");
    case "rejected":
      return said(pieces, frame.lease, "rejected", frame.reason);
    case "drop":
      return said(pieces, frame.lease, "dropped", frame.reason);
    default:
      return pieces;
  }
}

/** A unit that the server repeats is the one that is here. */
function added(pieces: readonly Piece[], { lease, unit, epoch, examples }: Unit): readonly Piece[] {
  const others = pieces.filter((one) => one.lease !== lease);
  return [...others, { lease, unit, epoch, examples, said: null, reason: null }];
}

function said(pieces: readonly Piece[], lease: number, word: Said, reason: string | null = null) {
  return pieces.map((one) => (one.lease === lease ? { ...one, said: word, reason } : one));
}

/** What happens with `piece` now. */
export function doing({ lease, said }: Piece, { held }: State): Doing {
  if (said !== null) return said;
  switch (held.find(({ unit }) => unit.lease === lease)?.stage) {
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
export function recent(pieces: readonly Piece[], state: State): readonly Piece[] {
  const open = new Set<Doing>(["waiting", "training", "sending"]);
  const over = pieces.filter((one) => !open.has(doing(one, state)));
  const tooOld = new Set(over.slice(0, Math.max(0, over.length - SHOWN)));
  return pieces.filter((one) => !tooOld.has(one));
}
