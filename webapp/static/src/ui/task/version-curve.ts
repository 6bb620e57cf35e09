/** The curve of all versions, drawn from the table beside it, and on training pages with this device's own rounds. */

import type { LocalMetrics } from "../../client/session/local-metrics";
import { say } from "../../i18n";
import { axisPercent, decimal } from "../../i18n/formatting";
import { Curve } from "../charts/curve";
import { type CurveLine, DASHED } from "../charts/lines";
import { requireElement } from "../lib/dom";
import { byVersion } from "../train/local-rounds";
import { bindFiles } from "./version-files";

const ACCURACY: CurveLine = {
  label: say.curves.accuracy,
  colour: "--progress",
  side: "left",
  range: [0, 1],
  format: axisPercent,
};
const LOSS: CurveLine = {
  label: say.curves.loss,
  colour: "--attention-strong",
  side: "right",
  format: decimal,
};
const LEFT: CurveLine = {
  ...LOSS,
  label: say.curves.leftBehind,
  colour: "--accent",
  scale: LOSS.label,
  dash: DASHED,
  rare: true,
};
const MINE: readonly CurveLine[] = [
  { ...ACCURACY, label: say.curves.accuracyHere, scale: ACCURACY.label, dash: DASHED },
  { ...LOSS, label: say.curves.lossHere, scale: LOSS.label, dash: DASHED },
];

/**
 * Draws the curve in `[data-curve]`; returns a function that draws it again after the table, or `mine`, changed.
 * Pages without training have no `mine`.
 */
export function showVersions(mine?: () => readonly LocalMetrics[]): () => void {
  const lines = [ACCURACY, LOSS, LEFT, ...(mine ? MINE : [])];
  bindFiles(document.body);
  const curve = new Curve(requireElement(document, "curve"), say.curves.version, lines);
  const draw = () => {
    const own = new Map(mine?.().map((learned) => [learned.version, learned]));
    const rows = byVersion(inTable(), own);
    const column = (value: (row: (typeof rows)[number]) => number | null) => rows.map(value);
    curve.show([
      column(([version]) => version),
      column(([, ours]) => (ours?.left ? null : valueIn(ours, "accuracy"))),
      column(([, ours]) => (ours?.left ? null : valueIn(ours, "loss"))),
      // It begins at the version of the roll-back, so that the fork is visible.
      rows.map(([, ours], index) =>
        ours?.left || rows[index + 1]?.[1]?.left ? valueIn(ours, "loss") : null,
      ),
      ...(mine
        ? [column(([, , own]) => own?.accuracy ?? null), column(([, , own]) => own?.loss ?? null)]
        : []),
    ]);
  };
  draw();
  return draw;
}

/** Returns the rows of the table by their version. */
function inTable(): Map<number, DOMStringMap> {
  const rows = [...document.querySelectorAll<HTMLElement>("tr[data-version]")];
  return new Map(rows.map(({ dataset }) => [Number(dataset.version), dataset]));
}

function valueIn(row: DOMStringMap | null, name: "accuracy" | "loss"): number | null {
  return row?.[name] ? Number(row[name]) : null;
}
