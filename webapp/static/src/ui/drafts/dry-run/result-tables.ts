/** Shows which devices will be able to take part, and the results of other browsers. */

import { say } from "../../../i18n/texts/owners/dry-run";
import { requireElement, setText } from "../../lib/dom";
import { type BrowserDryRun, type DryRunReport, ownResults } from "./results";

const TIME = new Intl.DateTimeFormat(document.documentElement.lang, {
  dateStyle: "medium",
  timeStyle: "short",
});
const OUTCOMES = { agrees: say.agrees, differs: say.differs, failed: say.failed, absent: say.lacks };

export function showDeviceSupport({ takers, browsers, payload }: DryRunReport): void {
  requireElement(document, "takers-card").hidden = takers.length === 0;
  fill(
    requireElement(document, "takers"),
    takers.map(({ text }) => text),
  );
  fill(requireElement(document, "browsers"), browsers);
  setText(requireElement(document, "payload"), payload ?? "");
}

/** Shows results of the current dry run that this browser did not produce. */
export function showOtherBrowsers(report: DryRunReport): void {
  const own = new Set(ownResults(report).values());
  const others = report.tried.filter((one) => one.what !== "none" && !own.has(one));
  requireElement(document, "others-card").hidden = others.length === 0;
  requireElement(document, "others").replaceChildren(...others.map(row).reverse());
}

function row({ agent, what, verdict, text, outdated, at }: BrowserDryRun): HTMLTableRowElement {
  const line = document.createElement("tr");
  const outcome = outdated ? `${OUTCOMES[verdict]}, ${say.outdated}` : OUTCOMES[verdict];
  const cells = [agent, say.what(what), outcome, TIME.format(1000 * at)].map((words) => {
    const cell = document.createElement("td");
    cell.textContent = words;
    return cell;
  });
  if (cells[2]) cells[2].title = text;
  line.append(...cells);
  return line;
}

function fill(list: HTMLElement, lines: readonly string[]): void {
  list.replaceChildren(
    ...lines.map((line) => {
      const item = document.createElement("li");
      item.textContent = line;
      return item;
    }),
  );
}
