/** The lines of a chart, and what is drawn of them: raw and smoothed values, without what a scale cannot show. Pure. */

import type { AxisRange } from "./ranges";
import { type CurveValue, smooth } from "./smoothing";

export interface CurveLine {
  readonly label: string;
  /** A custom property of the stylesheet, such as `--progress`. */
  readonly colour: string;
  readonly side: "left" | "right";
  /** Fixed lower and upper bound; without it the values decide. */
  readonly range?: readonly [number, number];
  readonly format: (value: number) => string;
  /** Label of the line whose scale and axis this one shares. */
  readonly scale?: string;
  readonly faint?: boolean;
  /** Lengths of dashes and gaps; without it the line is unbroken. */
  readonly dash?: readonly number[];
  /** Hidden, also in the legend, while it has no point; it shares the scale of another line. */
  readonly rare?: boolean;
}

/** The dashes of a line that has no pattern of its own. */
export const DASHED = [4, 4] as const;

/** The horizontal values first, then one list a line. */
export type Points = readonly (readonly CurveValue[])[];

/** How a person wants to see a chart. */
export interface ChartView {
  /** The weight of the past in the moving average; 0 for the curve as it is. */
  readonly smoothing: number;
  readonly isLog: boolean;
  /** The part of the horizontal axis that is shown; null for all of it. */
  readonly range: AxisRange | null;
}

export const WHOLE_VIEW: ChartView = { smoothing: 0, isLog: false, range: null };

/** One drawn line: of `line`, the values as they are, or smoothed. */
export interface DrawnLine {
  readonly line: CurveLine;
  readonly column: readonly CurveValue[];
  /** The unsmoothed values of a smoothed line. */
  readonly raw?: readonly CurveValue[];
  /** Whether it stands faintly behind the same line smoothed. */
  readonly isBehind: boolean;
}

/** Returns the lines to draw, those behind others first. Lines that are rare and empty are left out. */
export function drawnLines(lines: readonly CurveLine[], points: Points, view: ChartView): DrawnLine[] {
  const isDrawn = (line: CurveLine, column: readonly CurveValue[]) =>
    !line.rare || column.some((value) => value !== null);
  const drawn = lines.flatMap((line, index) => {
    const column = points[index + 1] ?? [];
    if (!isDrawn(line, column)) return [];
    const shown = (values: readonly CurveValue[]) => (view.isLog ? positive(values) : values);
    if (view.smoothing === 0) return [{ line, column: shown(column), isBehind: false }];
    const smoothed = { line, column: shown(smooth(column, view.smoothing)), raw: column, isBehind: false };
    // A line that is faint already has nothing behind it.
    return line.faint ? [smoothed] : [{ line, column: shown(column), isBehind: true }, smoothed];
  });
  return [...drawn.filter(({ isBehind }) => isBehind), ...drawn.filter(({ isBehind }) => !isBehind)];
}

/** Returns what the lines of a chart depend on beside their values: it changes when they have to be built again. */
export function lineSignature(drawn: readonly DrawnLine[], view: ChartView): string {
  const lines = drawn.map(({ line, isBehind }) => `${line.label}${isBehind ? " behind" : ""}`);
  return [view.isLog ? "log" : "linear", ...lines].join("\n");
}

/** Returns the first and last horizontal value; null without two points. */
export function wholeRange(points: Points): AxisRange | null {
  const values = points[0] ?? [];
  const [first, last] = [values[0], values.at(-1)];
  return typeof first === "number" && typeof last === "number" && last > first ? [first, last] : null;
}

function positive(values: readonly CurveValue[]): CurveValue[] {
  return values.map((value) => (value !== null && value > 0 ? value : null));
}
