/** The list of units on the training page, the line about trust, and the bar of the epoch. */

import type { UnitsView } from "../../../client/units/view";
import type { Board, Standing } from "../../../protocol/units/unit-client-events";
import { part, write } from "../../lib/dom";
import { type Comparison, epochOf, type PieceRow, rowsOf, trustOf } from "./view";

/** Shows this device's latest units. */
export function showUnits(root: HTMLElement, view: UnitsView): void {
  const rows = rowsOf(view);
  part(root, "pieces-none").hidden = rows.length > 0;
  part(root, "pieces").replaceChildren(...rows.map(itemOf));
}

function itemOf({ lease, doing, name, text, reason }: PieceRow): HTMLLIElement {
  const item = document.createElement("li");
  item.dataset.piece = doing;
  item.dataset.lease = String(lease);
  const dot = document.createElement("span");
  dot.className = "dot";
  const [who, what] = [name, text].map((words) => {
    const span = document.createElement("span");
    span.textContent = words;
    return span;
  });
  item.append(dot, who ?? "", what ?? "");
  if (reason) {
    const why = document.createElement("small");
    why.lang = "en";
    why.textContent = ` ${reason}`;
    what?.append(why);
  }
  return item;
}

/** Shows how far the server trusts this device. */
export function showTrust(root: HTMLElement, standing: Standing): void {
  const line = part(root, "trust");
  const [trust, quota] = trustOf(standing, line.dataset.comparison as Comparison);
  write(line, trust);
  showNote(root, "quota", quota);
}

/** Shows how far the epoch is. */
export function showEpoch(root: HTMLElement, board: Board): void {
  const epoch = epochOf(board);
  const bar = part<HTMLProgressElement>(root, "epoch-progress");
  [bar.value, bar.max, bar.hidden] = [epoch.done, Math.max(1, epoch.units), false];
  write(part(root, "epoch"), epoch.line);
  showNote(root, "epoch-more", epoch.more);
  showNote(root, "epoch-measured", epoch.measured);
}

/** A line that is there only when it says something. */
function showNote(root: HTMLElement, name: string, text: string): void {
  const line = part(root, name);
  line.hidden = text === "";
  write(line, text);
}
