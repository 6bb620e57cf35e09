/** The curve of losses on the dashboard: of the versions, their spread over clients, and other tasks' losses. */

import { say } from "../../i18n";
import { decimal } from "../../i18n/formatting";
import { charts } from "../../i18n/texts/owners/dashboard/charts";
import { manage } from "../../i18n/texts/owners/dashboard/manage";
import { InteractiveCurve } from "../charts/interactive-curve";
import { type CurveLine, DASHED, type Points } from "../charts/lines";
import { overlay } from "../charts/overlays";
import type { ComparedTask } from "./comparison";
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
/** Lines of other tasks differ by their dashes, too. */
const DASHES = [
  [8, 3],
  [2, 3],
  [8, 3, 2, 3],
  [14, 4],
] as const;

/** The curve of a task's losses; other tasks can be laid over it. */
export class TaskLossCurve {
  readonly #curve: InteractiveCurve;
  #own: Points = [];
  #others: readonly ComparedTask[] = [];

  /** `heading` is the title of the chart. */
  constructor(host: HTMLElement, task: string, heading: string) {
    const names = { chart: heading, axis: curves.version, file: `${task}-loss` };
    this.#curve = new InteractiveCurve(host, names, LINES);
  }

  showHistory(history: DashboardHistory): void {
    this.#own = ownPoints(history);
    this.#show();
  }

  compare(others: readonly ComparedTask[]): void {
    this.#others = others;
    this.#show();
  }

  #show(): void {
    const points = overlay([this.#own, ...this.#others.map(({ losses }) => losses.points)]);
    this.#curve.show(points, [...LINES, ...this.#others.map(otherLine)]);
  }
}

function ownPoints({ rounds, curve: points }: DashboardHistory): Points {
  const losses = new Map(rounds.map((one) => [one.round, one.losses]));
  return [
    points.map(({ version }) => version),
    points.map(({ loss, left }) => (left ? null : loss)),
    points.map(({ training_loss }) => training_loss),
    points.map(({ round }) => losses.get(round)?.p10 ?? null),
    points.map(({ round }) => losses.get(round)?.p90 ?? null),
    // It begins at the version of the roll-back, so that the fork is visible.
    points.map(({ loss, left }, index) => (left || points[index + 1]?.left ? loss : null)),
  ];
}

function otherLine({ task, place, losses }: ComparedTask): CurveLine {
  return {
    ...SHARED,
    label: charts.ofTask(losses.isHeldOut ? manage.heldOut : manage.training, task),
    colour: `--series-${place + 1}`,
    dash: DASHES[place] ?? DASHED,
  };
}
