/** Writes rows of text into the tables of the dashboard. */

import { setText } from "../lib/dom";
import type { TextRow } from "./tables";

/** Writes `texts` into the cells of `row`, of which the first is the header. */
export function fillRow(row: HTMLTableRowElement, texts: TextRow): void {
  texts.forEach((text, index) => {
    let cell = row.cells[index];
    if (!cell) {
      cell = document.createElement(index === 0 ? "th" : "td");
      if (index === 0) cell.scope = "row";
      row.append(cell);
    }
    setText(cell, text);
  });
}

/** Sets exactly `rows`, in their order. */
export function fillRows(body: HTMLTableSectionElement, rows: readonly TextRow[]): void {
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((texts, index) => {
    fillRow(body.rows[index] ?? body.insertRow(), texts);
  });
}
