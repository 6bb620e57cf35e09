/** The stacked chart of refusals by hour; the table below it has the same numbers. */

import { number } from "../../i18n/formatting";
import { charts } from "../../i18n/texts/owners/dashboard/charts";
import { manage } from "../../i18n/texts/owners/dashboard/manage";
import { requireElement } from "../lib/dom";
import { Pager } from "../lib/pager";
import type { RefusalHour } from "./frames";
import { type HourBar, hourBars, reasonsOf } from "./refusal-bars";
import { fillRows } from "./rows";
import type { TextRow } from "./tables";

/** Returns a function that shows hours in the page; it hides the part of the page while nothing was refused. */
export function refusalChart(
  page: HTMLElement,
  time: Intl.DateTimeFormat,
): (hours: readonly RefusalHour[]) => void {
  const part = requireElement(page, "refusal-hours");
  const chart = requireElement(part, "refusal-chart");
  const legend = requireElement(part, "refusal-legend");
  const body = requireElement<HTMLTableSectionElement>(part, "refusal-rows");
  const pager = new Pager<TextRow>(body.closest(".scroll") ?? body, charts.refusals, (rows) =>
    fillRows(body, rows),
  );
  let shown = "";

  return (hours) => {
    const key = JSON.stringify(hours);
    if (key === shown) return;
    shown = key;
    part.hidden = hours.length === 0;
    const reasons = reasonsOf(hours);
    const bars = hourBars(hours, reasons);
    chart.replaceChildren(...columns(bars, time));
    legend.replaceChildren(...reasons.map(legendEntry));
    pager.show(
      bars
        .filter(({ sum }) => sum > 0)
        .reverse()
        .map((bar) => [time.format(1000 * bar.at), number(bar.sum), describe(bar, reasons)]),
    );
  };
}

function columns(bars: readonly HourBar[], time: Intl.DateTimeFormat): HTMLElement[] {
  const most = Math.max(...bars.map(({ sum }) => sum), 1);
  return bars.map((bar) => {
    const column = document.createElement("span");
    column.title = `${time.format(1000 * bar.at)}: ${number(bar.sum)}`;
    bar.counts.forEach((count, index) => {
      if (count === 0) return;
      const piece = document.createElement("span");
      piece.dataset.series = String(index + 1);
      piece.style.setProperty("height", `${(100 * count) / most}%`);
      column.append(piece);
    });
    return column;
  });
}

function legendEntry(reason: string, index: number): HTMLElement {
  const entry = document.createElement("span");
  entry.dataset.series = String(index + 1);
  entry.textContent = nameOf(reason);
  return entry;
}

function describe(bar: HourBar, reasons: readonly string[]): string {
  return reasons
    .map((reason, index) => ({ reason, count: bar.counts[index] ?? 0 }))
    .filter(({ count }) => count > 0)
    .map(({ reason, count }) => `${nameOf(reason)}: ${number(count)}`)
    .join("; ");
}

function nameOf(reason: string): string {
  return reason === "" ? charts.others : manage.refusal(reason);
}
