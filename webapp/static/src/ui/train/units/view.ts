/** The texts on units, trust and the epoch. Pure: figures in, sentences out. */

import { activityOf, type ShownUnit, type UnitActivity } from "../../../client/units/unit-history";
import type { UnitsView } from "../../../client/units/view";
import { say } from "../../../i18n";
import type { Board, Standing } from "../../../protocol/units/unit-client-events";

const units = say.units;

/** A line of the list of units. */
export interface UnitRow {
  readonly lease: number;
  readonly doing: UnitActivity;
  readonly name: string;
  readonly text: string;
  /** Why the unit does not count; empty if there is no reason. */
  readonly reason: string;
}

/** Units that wait to be trained are listed up to this number: a device that works offline has many. */
const LISTED = 4;

/** Returns rows of units, the newest first. */
export function rowsOf(view: UnitsView): readonly UnitRow[] {
  const rows = view.units.map((piece) => rowOf(piece, view));
  const far = new Set(rows.filter(({ doing }) => doing === "waiting").slice(LISTED));
  return rows.filter((row) => !far.has(row)).reverse();
}

/** Returns what this device has in hand for a time without a connection; empty while it asks for none. */
export function bufferOf({ machine, unitSeconds }: UnitsView): string {
  if (machine.offline === 0 || machine.units.length === 0) return "";
  const { loaded } = loadedUnits(machine);
  const fetching = machine.units.filter(({ stage }) => stage === "fetching").length;
  const enough = loaded > 0 && unitSeconds > 0 ? units.enoughFor(loaded * unitSeconds) : "";
  return [units.loaded(loaded, fetching), enough].filter(Boolean).join(" ");
}

/** Returns how many results are ready, and how many units are left that can be trained without the server. */
export function loadedUnits({ units }: UnitsView["machine"]): {
  readonly done: number;
  readonly loaded: number;
} {
  const done = units.filter(({ stage }) => stage === "sending").length;
  const loaded = units.filter(({ stage }) => stage === "queued" || stage === "training").length;
  return { done, loaded };
}

function rowOf(piece: ShownUnit, { machine, progress }: UnitsView): UnitRow {
  const now = activityOf(piece, machine);
  const steps = now === "training" && progress ? units.step(progress.step, progress.steps) : null;
  return {
    lease: piece.lease,
    doing: now,
    name: units.unit(piece.unit, piece.epoch),
    text: steps ?? units.doing[now],
    reason: now === "rejected" ? (piece.reason ?? "") : "",
  };
}

/** The clients whose results are compared before they count, by the task's settings. */
export type TrustComparison = "newcomers" | "samples" | "none";

/** Returns the texts on the server's trust in this device, and its quota for today; empty before they are known. */
export function trustOf(
  standing: Standing | null,
  comparison: TrustComparison,
): readonly [trust: string, quota: string] {
  if (standing === null) return ["", ""];
  return [trustIn(standing, comparison), units.quota(standing.quota)];
}

function trustIn({ trusted, checked }: Standing, comparison: TrustComparison): string {
  if (comparison === "none") return units.uncompared;
  if (comparison === "samples") return units.sampled(checked);
  if (trusted) return units.trusted(checked);
  return checked > 0 ? units.newcomerSoFar(checked) : units.newcomer;
}

export interface EpochWords {
  readonly line: string;
  readonly more: string;
  readonly measured: string;
  readonly done: number;
  readonly units: number;
}

/** Returns the progress of all clients. */
export function epochOf(board: Board): EpochWords {
  const { epoch, epochs, tally, browsers, peers } = board;
  const isActive = tally.leased + tally.compared > 0;
  const parts = [
    ...(tally.leased > 0 ? [units.atWork(tally.leased)] : []),
    ...(tally.compared > 0 ? [units.compared(tally.compared)] : []),
  ];
  return {
    line: `${units.epoch(epoch, epochs)}: ${units.done(tally.done, tally.units)}.`,
    more: [isActive ? `${sentence(parts.join(", "))}.` : "", units.people(browsers, peers)]
      .filter(Boolean)
      .join(" "),
    measured: board.loss === null ? "" : units.measured(board.measured, accuracyOf(board), board.loss),
    done: tally.done,
    units: tally.units,
  };
}

function accuracyOf({ metrics }: Board): number | null {
  return metrics.accuracy ?? null;
}

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
