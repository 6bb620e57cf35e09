/** Writes the numbers of a chart as CSV (RFC 4180). Pure. */

import type { CurveLine, Points } from "./lines";
import { type AxisRange, shownIndices } from "./ranges";
import { type CurveValue, smooth } from "./smoothing";

type Cell = string | CurveValue;

/** Spreadsheets compute texts that begin so. */
const FORMULA = /^[=+\-@\t\r]/;

/** Returns rows as CSV. Numbers have a decimal point in all languages; a text is never a formula. */
export function toCsv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("");
}

/** Returns the rows of a chart: a header, then the points within `range`, smoothed values beside the others. */
export function chartRows(
  title: string,
  lines: readonly CurveLine[],
  points: Points,
  range: AxisRange | null,
  smoothing: number,
  smoothed: (label: string) => string,
): Cell[][] {
  const places = (points[0] ?? []).map(Number);
  const columns = lines.flatMap(({ label }, index) => {
    const values = points[index + 1] ?? [];
    const raw = { label, values };
    return smoothing === 0 ? [raw] : [raw, { label: smoothed(label), values: smooth(values, smoothing) }];
  });
  const used = columns.filter(({ values }) => values.some((value) => value !== null));
  const [first, last] = shownIndices(places, range);
  const rows: Cell[][] = [[title, ...used.map(({ label }) => label)]];
  if (first < 0) return rows;
  for (let index = first; index <= last; index += 1) {
    rows.push([places[index] ?? null, ...used.map(({ values }) => values[index] ?? null)]);
  }
  return rows;
}

function cellText(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : "";
  const safe = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
