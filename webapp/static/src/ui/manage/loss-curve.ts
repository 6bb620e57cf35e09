/** The curve of losses on the dashboard: of the versions, and their spread over the clients that trained them. */

import { say } from "../../i18n";
import { decimal } from "../../i18n/formatting";
import { manage } from "../../i18n/texts/owners/manage";
import { Curve } from "../charts/curve";
import { type CurveLine, DASHED } from "../charts/lines";
import type { DashboardHistory } from "./frames";

const curves = say.curves;

const LEFT = { side: "left", format: decimal } as const;
const SHARED = { ...LEFT, scale: manage.heldOut } as const;

const LINES: readonly CurveLine[] = [
  { label: manage.heldOut, colour: "--progress", ...LEFT },
  { label: manage.training, colour: "--attention-strong", ...SHARED },
  { label: manage.lowest, colour: "--text-muted", ...SHARED, faint: true },
  { label: manage.highest, colour: "--text-muted", ...SHARED, faint: true },
  { label: curves.leftBehind, colour: "--problem", ...SHARED, dash: DASHED, rare: true },
];

/** Returns a function that shows the losses of a history in `host`. */
export function lossCurve(host: HTMLElement): (history: DashboardHistory) => void {
  const curve = new Curve(host, curves.version, LINES);
  return ({ rounds, curve: points }) => {
    const losses = new Map(rounds.map((one) => [one.round, one.losses]));
    curve.show([
      points.map(({ version }) => version),
      points.map(({ loss, left }) => (left ? null : loss)),
      points.map(({ training_loss }) => training_loss),
      points.map(({ round }) => losses.get(round)?.p10 ?? null),
      points.map(({ round }) => losses.get(round)?.p90 ?? null),
      // It begins at the version of the roll-back, so that the fork is visible.
      points.map(({ loss, left }, index) => (left || points[index + 1]?.left ? loss : null)),
    ]);
  };
}
