/** Converts the board of work units to rows of text and cells of a map. Pure. */

import { decimal, number, percent } from "../../i18n/formatting";
import { say } from "../../i18n/texts/owners/dashboard/units";
import { participantName } from "../../i18n/texts/volunteers/participant-names";
import type { TrustComparison } from "../train/units/view";
import type { TextRow } from "./tables";

/** The server's data on a task's work units (docs/reference/http.md, Work units). */
export interface UnitsBoard {
  readonly epoch: number;
  readonly epochs: number;
  readonly base: number;
  readonly in_model: number;
  readonly tally: Readonly<
    Record<"units" | "open" | "leased" | "compared" | "done" | "failed" | "dropped", number>
  >;
  readonly shards: {
    readonly count: number;
    readonly each: number;
    /** Units that are open, leased, compared, done, failed and dropped, and the leases that they took. */
    readonly cells: readonly (readonly [number, number, number, number, number, number, number])[];
  };
  readonly servers: { readonly count: number; readonly backlog: number; readonly lost: number };
  readonly clients: Readonly<Record<"here" | "at_work" | "slots" | "proven" | "trusted", number>>;
  /** Whose results are compared before they count. */
  readonly comparison: TrustComparison;
  readonly trust: readonly KnownClients[];
  readonly scores: readonly Score[];
  /** Seconds until the server has a newer answer. */
  readonly newer_in: number;
}

export interface KnownClients {
  readonly client: string;
  readonly kind: string;
  readonly here: boolean;
  readonly trusted: boolean;
  readonly proven: boolean;
  readonly doubted: boolean;
  readonly held: number;
  readonly on_time: number;
  readonly quota: number;
  readonly left_today: number;
  readonly slots: number;
  readonly leases: number;
  readonly seconds: number | null;
}

interface Spread {
  readonly mean: number;
  readonly deviation: number;
  readonly least: number;
  readonly most: number;
}

export interface Score {
  readonly epoch: number;
  readonly results: number;
  readonly measured: number;
  readonly staleness: number;
  readonly loss: Spread | null;
  readonly metrics: Readonly<Record<string, Spread | null>>;
}

/** A cell of the map: its phase is that of the least finished unit. */
export interface ShardCell {
  readonly phase: string;
  /** How often its units were leased beyond once each, at most 3. */
  readonly heat: number;
  /** The share of its units that are done. */
  readonly done: number;
  readonly title: string;
}

const PHASES = ["open", "leased", "compared", "done", "failed", "dropped"] as const;
const HOTTEST = 3;

/** Returns the figures at the top, in their order. */
export function unitFigures(units: UnitsBoard): TextRow {
  const { tally, clients, servers } = units;
  return [
    say.at(units.epoch, units.epochs),
    say.at(tally.done, tally.units),
    say.results(units.in_model),
    say.servers(servers.count),
    say.clients(clients.here, clients.at_work),
    say.slots(clients.slots, clients.here),
    say.backlog(servers.backlog),
    say.results(servers.lost),
    say.trust(clients.proven, clients.trusted, units.comparison !== "newcomers"),
  ];
}

/** `31 done, 4 at work`. */
export function tallyOf({ tally }: UnitsBoard): string {
  return say.tally([
    ["done", tally.done],
    ["leased", tally.leased],
    ["compared", tally.compared],
    ["open", tally.open],
    ["failed", tally.failed],
    ["dropped", tally.dropped],
  ]);
}

export function cellsOf({ shards }: UnitsBoard): ShardCell[] {
  return shards.cells.map((counts, index) => {
    const leases = counts[counts.length - 1] ?? 0;
    const units = PHASES.reduce((sum, _, at) => sum + (counts[at] ?? 0), 0);
    const first = index * shards.each;
    const last = Math.min(first + shards.each, shards.count) - 1;
    const tally = say.tally(PHASES.map((phase, at) => [phase, counts[at] ?? 0]));
    return {
      phase: PHASES.find((_, at) => (counts[at] ?? 0) > 0) ?? "open",
      heat: Math.min(HOTTEST, Math.max(0, Math.ceil(leases / Math.max(1, units)) - 1)),
      done: units > 0 ? (counts[PHASES.indexOf("done")] ?? 0) / units : 0,
      title: say.cell(say.shards(first, last), tally, leases),
    };
  });
}

export function trustRow(one: KnownClients, comparison: TrustComparison): TextRow {
  return [
    `${participantName(one.client)} · ${one.client}`,
    one.kind || say.none,
    say.stands(one, comparison !== "newcomers"),
    say.row(one.held),
    say.row(one.on_time),
    say.today(one.left_today, one.quota),
    say.work(one.leases, one.slots, one.here),
    say.pace(one.seconds),
  ];
}

/** Returns rows of scores, the newest first. */
export function scoreRows(scores: readonly Score[]): TextRow[] {
  return [...scores].reverse().map((one) => {
    const accuracy = one.metrics.accuracy ?? null;
    return [
      number(one.epoch),
      say.at(one.measured, one.results),
      percent(accuracy?.mean ?? null),
      accuracy ? say.spread(accuracy) : say.none,
      one.loss ? decimal(one.loss.mean) : say.none,
      say.staleness(one.staleness),
    ];
  });
}
