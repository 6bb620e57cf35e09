/** Warnings about the data for their owner, before they are used. */

import { say } from "../../../i18n/texts/owners/preprocess";
import type { DataFindings } from "./findings";

/** The ratio from which on a class is far more frequent than another. */
const STRONG = 3;

/** Returns sentences: unbalanced classes, different sizes, empty cells. */
export function warnings(findings: DataFindings): readonly string[] {
  return [...imbalance(findings), ...sizes(findings), ...gaps(findings)];
}

function imbalance({ classes, notes }: DataFindings): readonly string[] {
  const counts = Object.entries(classes).sort(([, a], [, b]) => b - a);
  const [most, least] = [counts[0], counts.at(-1)];
  // For pictures, the job `look` has already reported it.
  if (!most || !least || most[1] <= STRONG * least[1] || notes.some((one) => one.includes("class_weight")))
    return [];
  return [say.imbalance(most[0], least[0], Math.round(most[1] / Math.max(1, least[1])))];
}

function sizes({ pictures }: DataFindings): readonly string[] {
  const sorted = pictures
    .map(({ width, height }) => [width * height, `${width} × ${height}`] as const)
    .sort(([a], [b]) => a - b);
  const [least, most] = [sorted[0]?.[1], sorted.at(-1)?.[1]];
  return least === undefined || most === undefined || least === most ? [] : [say.sizes(least, most)];
}

function gaps({ columns }: DataFindings): readonly string[] {
  const empty = columns.filter(({ missing }) => missing > 0).map(({ name }) => name);
  return empty.length > 0 ? [say.missing(empty)] : [];
}
