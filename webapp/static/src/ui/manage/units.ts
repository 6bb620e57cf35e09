/** The board of work units on the dashboard: fetched when something has changed. */

import { axisPercent } from "../../i18n/formatting";
import { say } from "../../i18n/texts/owners/dashboard/units";
import { InteractiveCurve } from "../charts/interactive-curve";
import { requestJson } from "../lib/api";
import { requireElement, setText } from "../lib/dom";
import { tablePager } from "../lib/pager";
import { pollAfterChange } from "./polling";
import { fillRows } from "./rows";
import type { TextRow } from "./tables";
import { cellsOf, scoreRows, tallyOf, trustRow, type UnitsBoard, unitFigures } from "./unit-rows";

/** The shortest interval, in milliseconds. */
const EVERY = 2000;

/** Shows the board, if the page has one; returns a function to call whenever something has changed. */
export function bindUnits(page: HTMLElement, task: string): () => void {
  const board = page.querySelector<HTMLElement>("[data-units]");
  if (!board) return () => undefined;
  const range = { side: "left", format: axisPercent } as const;
  const heading = requireElement(board, "scores-heading").textContent?.trim() ?? "";
  const names = { chart: heading, axis: say.epoch, file: `${task}-accuracy` };
  const trust = requireElement<HTMLTableSectionElement>(board, "trust");
  const trustPages = tablePager<TextRow>(trust, (rows) => fillRows(trust, rows));
  const scores = requireElement<HTMLTableSectionElement>(board, "scores");
  const scorePages = tablePager<TextRow>(scores, (rows) => fillRows(scores, rows));
  const curve = new InteractiveCurve(requireElement(board, "scores-curve"), names, [
    { label: say.accuracy, colour: "--progress", ...range },
    { label: say.least, colour: "--text-muted", ...range, scale: say.accuracy, faint: true },
    { label: say.most, colour: "--text-muted", ...range, scale: say.accuracy, faint: true },
  ]);

  async function look(): Promise<number> {
    // If it fails now, the next change fetches it again.
    const units = (await requestJson("GET", `/api/tasks/${task}/units`).catch(
      () => null,
    )) as UnitsBoard | null;
    if (units === null) return 0;
    show(units);
    return 1000 * units.newer_in;
  }

  function show(units: UnitsBoard): void {
    unitFigures(units).forEach((text, index) => {
      const element = board?.querySelectorAll("[data-unit-figures] dd")[index];
      if (element instanceof HTMLElement) setText(element, text);
    });
    const tally = tallyOf(units);
    setText(requireElement(page, "tally"), tally);
    showMap(requireElement(page, "map"), units, tally);
    setText(requireElement(page, "map-note"), units.shards.each > 1 ? say.each(units.shards.each) : "");
    trustPages.show(units.trust.map((one) => trustRow(one, units.comparison)));
    scorePages.show(scoreRows(units.scores));
    const accuracies = units.scores.map(({ metrics }) => metrics.accuracy ?? null);
    curve.show([
      units.scores.map(({ epoch }) => epoch),
      accuracies.map((one) => one?.mean ?? null),
      accuracies.map((one) => one?.least ?? null),
      accuracies.map((one) => one?.most ?? null),
    ]);
  }

  return pollAfterChange(look, EVERY);
}

function showMap(map: HTMLElement, units: UnitsBoard, tally: string): void {
  map.setAttribute("aria-label", say.map(units.shards.count, tally));
  const cells = cellsOf(units);
  while (map.children.length > cells.length) map.lastElementChild?.remove();
  cells.forEach(({ phase, heat, done, title }, index) => {
    const cell = (map.children[index] ?? map.appendChild(document.createElement("span"))) as HTMLElement;
    cell.dataset.phase = phase;
    cell.dataset.heat = String(heat);
    cell.title = title;
    cell.style.setProperty("--done", `${Math.round(100 * done)}%`);
  });
}
