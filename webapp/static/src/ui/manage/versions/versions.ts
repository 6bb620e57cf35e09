/** The table of versions: the metrics of each, its files, and a button to roll back to it. */

import { decimal, number, percent } from "../../../i18n/formatting";
import { manage } from "../../../i18n/texts/owners/dashboard/manage";
import { makeButton } from "../../lib/button";
import { setChildren, setText } from "../../lib/dom";
import { filesMenu } from "../../task/version-files";
import type { VersionPoint } from "../frames";

/** A row of the table. */
export interface ShownVersion {
  readonly point: VersionPoint;
  readonly isBest: boolean;
  readonly isNewest: boolean;
}

/** Returns the rows of all versions, the newest first. */
export function shownVersions(points: readonly VersionPoint[], best: number | null): ShownVersion[] {
  const newest = points.at(-1);
  return points
    .map((point) => ({ point, isBest: point.version === best, isNewest: point === newest }))
    .reverse();
}

/** Shows `versions`. `back` rolls back to a version; null if that is not allowed. */
export function fillVersions(
  body: HTMLElement,
  task: string,
  versions: readonly ShownVersion[],
  time: Intl.DateTimeFormat,
  back: ((version: number) => void) | null,
): void {
  const rows = new Map([...body.querySelectorAll("tr")].map((row) => [row.dataset.version, row]));
  setChildren(
    body,
    versions.map(({ point, isBest, isNewest }) => {
      const row = rows.get(String(point.version)) ?? newRow(task, point.version);
      texts(point, isBest, time).forEach((text, index) => {
        const cell = row.cells[index + 1];
        if (cell) setText(cell, text);
      });
      row.dataset.left = String(point.left);
      if (!point.kept) row.querySelector(".files")?.remove();
      const may = back !== null && point.kept && !isNewest;
      showBack(row, may ? () => back(point.version) : null, point.version);
      return row;
    }),
  );
}

function texts(point: VersionPoint, isBest: boolean, time: Intl.DateTimeFormat): readonly string[] {
  const accuracy = point.metrics.accuracy ?? null;
  return [
    isBest ? manage.best(manage.standing(point)) : manage.standing(point),
    time.format(new Date(1000 * point.created)),
    point.loss === null ? manage.none : decimal(point.loss),
    percent(accuracy),
  ];
}

function newRow(task: string, version: number): HTMLTableRowElement {
  const row = document.createElement("tr");
  row.dataset.version = String(version);
  const head = document.createElement("th");
  head.scope = "row";
  const link = document.createElement("a");
  link.href = `/tasks/${task}/versions/${version}`;
  link.textContent = number(version);
  head.append(link);
  row.append(head);
  for (let cells = 0; cells < 6; cells += 1) row.insertCell();
  row.cells[5]?.append(filesMenu(task, version));
  return row;
}

function showBack(row: HTMLTableRowElement, press: (() => void) | null, version: number): void {
  const cell = row.cells[6];
  if (!cell || (press === null) === (cell.firstChild === null)) return;
  cell.replaceChildren(...(press ? [makeButton(manage.back, press, manage.backTo(version))] : []));
}
