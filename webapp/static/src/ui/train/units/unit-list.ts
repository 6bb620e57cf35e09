/** The list of units on the training page, the line on trust, and the bar of the epoch. */

import type { UnitsView } from "../../../client/units/view";
import type { Board, Standing } from "../../../protocol/units/unit-client-events";
import { requireElement, setText } from "../../lib/dom";
import { bufferOf, epochOf, rowsOf, type TrustComparison, trustOf, type UnitRow } from "./view";

/** Shows this device's latest units. */
export function showUnits(root: HTMLElement, view: UnitsView): void {
  const rows = rowsOf(view);
  requireElement(root, "pieces-none").hidden = rows.length > 0;
  requireElement(root, "pieces").replaceChildren(...rows.map(itemOf));
  showNote(root, "buffer", bufferOf(view));
}

function itemOf({ lease, doing, name, text, reason }: UnitRow): HTMLLIElement {
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
    why.textContent = ` ${reason}`;
    what?.append(why);
  }
  return item;
}

/** Shows the server's trust in this device. */
export function showTrust(root: HTMLElement, standing: Standing): void {
  const line = requireElement(root, "trust");
  const [trust, quota] = trustOf(standing, line.dataset.comparison as TrustComparison);
  setText(line, trust);
  showNote(root, "quota", quota);
}

/** Shows the progress of the epoch. */
export function showEpoch(root: HTMLElement, board: Board): void {
  const epoch = epochOf(board);
  const bar = requireElement<HTMLProgressElement>(root, "epoch-progress");
  [bar.value, bar.max, bar.hidden] = [epoch.done, Math.max(1, epoch.units), false];
  setText(requireElement(root, "epoch"), epoch.line);
  showNote(root, "epoch-more", epoch.more);
  showNote(root, "epoch-measured", epoch.measured);
}

/** Sets a line that is hidden when it is empty. */
function showNote(root: HTMLElement, name: string, text: string): void {
  const line = requireElement(root, name);
  line.hidden = text === "";
  setText(line, text);
}
