/** Options of uPlot for a chart, in the colours of the stylesheet. */

import type uPlot from "uplot";
import { number } from "../../i18n/formatting";
import type { ChartView, CurveLine, DrawnLine } from "./lines";
import { logBounds, logTicks } from "./scales";
import type { CurveValue } from "./smoothing";

const FONT = "12px system-ui, sans-serif";
/** Versions and steps are whole numbers: there are no ticks between them. */
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
/** Ticks of a logarithmic axis, which is 220 pixels high. */
const LOG_TICKS = 6;

/** What the options depend on beside the lines. */
export interface PlotFrame {
  readonly title: string;
  readonly size: { readonly width: number; readonly height: number };
  /** Returns the colour of a custom property. */
  readonly colour: (property: string) => string;
  /** Returns the current view: it may change while the plot stays. */
  readonly view: () => ChartView;
  /** Adds what reacts to people; without them the chart is a picture. */
  readonly plugins: readonly uPlot.Plugin[];
}

/** `current` returns the lines, whose values may change while the plot stays. */
export function plotOptions(current: () => readonly DrawnLine[], frame: PlotFrame): uPlot.Options {
  const { title, colour, view, plugins } = frame;
  const drawn = current();
  const isLog = view().isLog;
  const owners = new Set(drawn.map(({ line }) => line).filter(({ scale }) => scale === undefined));
  const reacts = plugins.length > 0;
  return {
    ...frame.size,
    plugins: [...plugins],
    scales: {
      x: { time: false, range: (_, least, most) => bounds(view().range ?? [least, most]) },
      ...Object.fromEntries([...owners].map(({ label, range }) => [label, valueScale(isLog, range)])),
    },
    cursor: reacts ? { y: false, drag: { setScale: false, x: false, y: false } } : { show: false },
    legend: {
      live: reacts,
      markers: { width: 0, fill: (_, index) => colour(drawn[index - 1]?.line.colour ?? "--text-muted") },
    },
    series: [
      { label: title, value: (_, value) => (value === null ? "–" : number(value)) },
      ...drawn.map((one, index) => series(one, (point) => current()[index]?.raw?.[point] ?? null, colour)),
    ],
    axes: [
      {
        ...axis(colour),
        label: title,
        size: 28,
        labelSize: 20,
        grid: { stroke: colour("--border"), width: 1 },
        incrs: WHOLE,
        values: (_, places) => places.map(number),
      },
      ...[...owners].map((line) => valueAxis(line, owners.size > 1, isLog, colour)),
    ],
  };
}

/** `rawAt` returns the unsmoothed value of a point of a smoothed line. */
function series(
  { line, isBehind }: DrawnLine,
  rawAt: (point: number) => CurveValue,
  colour: (property: string) => string,
): uPlot.Series {
  const { label, colour: property, faint, dash, scale, format } = line;
  const text = (value: number | null | undefined) => (typeof value === "number" ? format(value) : "–");
  return {
    label,
    scale: scale ?? label,
    stroke: colour(property),
    width: faint || isBehind ? 1 : 2,
    alpha: faint || isBehind ? 0.35 : 1,
    ...(dash && { dash: [...dash] }),
    // The legend has one entry for a line and its smoothed values.
    ...(isBehind && { class: "behind" }),
    spanGaps: true,
    points: { show: false },
    value: (_, value, __, index) => {
      const unsmoothed = index === null ? null : rawAt(index);
      return unsmoothed === null ? text(value) : `${text(value)} (${format(unsmoothed)})`;
    },
  };
}

function valueScale(isLog: boolean, range: readonly [number, number] | undefined): uPlot.Scale {
  if (isLog) return { distr: 3, log: 10, range: (_, least, most) => bounds(logBounds(least, most)) };
  return range ? { range: [range[0], range[1]] } : {};
}

function valueAxis(
  { label, side, format, colour: property }: CurveLine,
  isOneOfTwo: boolean,
  isLog: boolean,
  colour: (property: string) => string,
): uPlot.Axis {
  return {
    ...axis(colour),
    // With two axes, each has the colour of its line.
    stroke: colour(isOneOfTwo ? property : "--text-muted"),
    scale: label,
    side: side === "left" ? 3 : 1,
    size: 46,
    grid: { show: side === "left", stroke: colour("--border"), width: 1 },
    ...(isLog && {
      splits: (_: uPlot, __: number, least: number, most: number) => logTicks(least, most, LOG_TICKS),
      filter: (_: uPlot, places: number[]) => places,
    }),
    values: (_, places) => places.map(format),
  };
}

function axis(colour: (property: string) => string): uPlot.Axis {
  return { stroke: colour("--text-muted"), font: FONT, labelFont: FONT, ticks: { show: false } };
}

function bounds([least, most]: readonly [number, number]): [number, number] {
  return [least, most];
}
