/** Converts the dashboard's data to rows of text for its tables and lists. Pure. */

import { number, seconds } from "../../i18n/formatting";
import { manage, type PassWords } from "../../i18n/texts/owners/dashboard/manage";
import { participantName } from "../../i18n/texts/volunteers/participant-names";
import type { Alert, Counts, DashboardNow, DashboardParticipant, DashboardRound } from "./frames";

export type TextRow = readonly string[];

/** Returns rows of counts, in the server's order, the largest first. */
export function countRows(counts: Counts, name: (word: string) => string): TextRow[] {
  return Object.entries(counts).map(([word, count]) => [name(word), number(count)]);
}

export function participantRow(one: DashboardParticipant): TextRow {
  return [
    `${participantName(one.client)} · ${one.client}`,
    manage.runner(one.kind, one.backend, one.device),
    one.banned !== null ? manage.banned : manage.status(one.status),
    number(one.accepted),
    one.refused + one.late === 0 ? number(one.refused) : manage.refused(one.refused, one.late),
    one.examples > 0 ? number(one.examples) : manage.none,
    manage.bytes(one.received, one.sent),
  ];
}

/** Returns rows of rounds, the newest first. */
export function roundRows(rounds: readonly DashboardRound[], words: PassWords): TextRow[] {
  return [...rounds]
    .reverse()
    .map((one) => [
      number(one.round),
      manage.outcome(one.outcome, one.reason),
      words.counted(one.accepted, one.cohort),
      number(one.refused),
      seconds(one.seconds),
      spread(one.losses),
    ]);
}

function spread({ p10, p50, p90 }: Counts): string {
  if (p10 === undefined || p50 === undefined || p90 === undefined) return manage.none;
  return manage.spread(p10, p50, p90);
}

/** Returns the figures at the top, in their order. */
export function figures(now: DashboardNow): TextRow {
  const { totals } = now;
  const refused = Object.values(totals.refusals).reduce((sum, count) => sum + count, 0);
  return [
    number(now.here),
    manage.of(now.version, now.rounds),
    number(totals.accepted),
    number(refused),
    totals.examples > 0 ? number(totals.examples) : manage.none,
    manage.bytes(now.received, now.sent),
    manage.energy(totals.watt_hours),
  ];
}

export function alertWords(alert: Alert, time: Intl.DateTimeFormat): string {
  const at = time.format(new Date(1000 * alert.at));
  if (alert.cleared === alert.at) return manage.at(at, alert.text);
  if (alert.cleared === null) return manage.since(at, alert.text);
  return manage.until(at, time.format(new Date(1000 * alert.cleared)), alert.text);
}
