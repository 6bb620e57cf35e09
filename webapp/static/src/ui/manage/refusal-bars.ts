/** The bars of the chart of refusals by hour. Pure. */

import type { RefusalHour } from "./frames";

/** The commonest reasons have a colour each, all others share the last one. */
export const SERIES = 5;
const HOUR = 3600;
const OTHERS = "";

/** One hour: its counts by the place of their reason, and their sum. */
export interface HourBar {
  readonly at: number;
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Returns the reasons of all hours, the commonest first; the last one is empty where it stands for several. */
export function reasonsOf(hours: readonly RefusalHour[]): string[] {
  const sums = new Map<string, number>();
  for (const { refusals } of hours) {
    for (const [code, count] of Object.entries(refusals)) sums.set(code, (sums.get(code) ?? 0) + count);
  }
  const codes = [...sums].sort((one, other) => other[1] - one[1] || one[0].localeCompare(other[0]));
  const names = codes.map(([code]) => code);
  return names.length <= SERIES ? names : [...names.slice(0, SERIES - 1), OTHERS];
}

/** Returns a bar for each hour from the first to the last one, also for those without refusals. */
export function hourBars(hours: readonly RefusalHour[], reasons: readonly string[]): HourBar[] {
  const [first, last] = [hours[0], hours.at(-1)];
  if (!first || !last) return [];
  const byHour = new Map(hours.map(({ at, refusals }) => [at, refusals]));
  const bars: HourBar[] = [];
  for (let at = first.at; at <= last.at; at += HOUR) {
    const refusals = byHour.get(at) ?? {};
    const counts = reasons.map((reason) => {
      if (reason !== OTHERS) return refusals[reason] ?? 0;
      return Object.entries(refusals).reduce(
        (sum, [code, count]) => sum + (reasons.includes(code) ? 0 : count),
        0,
      );
    });
    bars.push({ at, counts, sum: counts.reduce((sum, count) => sum + count, 0) });
  }
  return bars;
}
