/** A chart with tools: smoothing, a logarithmic scale, zoom, the values at a step, and downloads. */

import { charts } from "../../i18n/texts/owners/dashboard/charts";
import { saveBlob } from "../lib/save-blob";
import { chartImage } from "./chart-image";
import { chartTools } from "./chart-tools";
import { chartRows, toCsv } from "./csv";
import { Curve } from "./curve";
import { dragZoom } from "./drag-zoom";
import { type CurveLine, type Points, wholeRange } from "./lines";
import { type AxisRange, moveRange, selectRange, zoomRange } from "./ranges";
import { stepKeys } from "./step-keys";

/** What a chart is called. */
export interface ChartNames {
  /** For people. */
  readonly chart: string;
  /** Of the horizontal axis. */
  readonly axis: string;
  /** Of downloaded files, without its ending. */
  readonly file: string;
}

export class InteractiveCurve {
  readonly #host: HTMLElement;
  readonly #names: ChartNames;
  readonly #curve: Curve;
  readonly #tools: ReturnType<typeof chartTools>;

  constructor(host: HTMLElement, names: ChartNames, lines: readonly CurveLine[]) {
    this.#host = host;
    this.#names = names;
    const reset = () => this.#showRange(null);
    const zoom = (factor: number, centre?: number) =>
      this.#change((whole, shown) => zoomRange(whole, shown, factor, centre));
    this.#curve = new Curve(host, names.axis, lines, [
      dragZoom(
        (one, other) => this.#change((whole, shown) => selectRange(whole, one, other) ?? shown),
        reset,
      ),
      stepKeys({ label: charts.valuesOf(names.chart), reach: (place) => this.#reach(place), zoom, reset }),
    ]);
    this.#tools = chartTools(names.chart, {
      look: (view) => this.#curve.look(view),
      zoom,
      move: (share) => this.#change((whole, shown) => moveRange(whole, shown, share)),
      reset,
      savePicture: () => void this.#savePicture(),
      saveNumbers: () => this.#saveNumbers(),
    });
    host.before(this.#tools.element);
    this.#tools.element.hidden = true;
  }

  /** Shows these points, of `lines` if they are others than before. */
  show(points: Points, lines?: readonly CurveLine[]): void {
    this.#curve.show(points, lines);
    this.#tools.element.hidden = this.#host.hidden;
  }

  /** `next` returns the range to show, null for all, from the whole range and the one that is shown. */
  #change(next: (whole: AxisRange, shown: AxisRange) => AxisRange | null): void {
    const whole = wholeRange(this.#curve.points);
    if (whole) this.#showRange(next(whole, this.#curve.view.range ?? whole));
  }

  #showRange(range: AxisRange | null): void {
    const whole = wholeRange(this.#curve.points);
    const isWhole = range === null || (whole !== null && range[0] <= whole[0] && range[1] >= whole[1]);
    this.#curve.look({ range: isWhole ? null : range });
    this.#tools.showsPart(!isWhole);
  }

  /** Moves the part that is shown until `place` is in it. */
  #reach(place: number): void {
    const { range } = this.#curve.view;
    if (range === null || (place >= range[0] && place <= range[1])) return;
    const width = range[1] - range[0];
    const first = place < range[0] ? place : place - width;
    this.#showRange([first, first + width]);
  }

  async #savePicture(): Promise<void> {
    const { canvas, lines, points } = this.#curve;
    if (!canvas) return;
    const shown = lines.filter((_, index) => points[index + 1]?.some((value) => value !== null));
    const style = getComputedStyle(this.#host);
    const colour = (property: string) => style.getPropertyValue(property).trim();
    saveBlob(await chartImage(canvas, this.#names.chart, shown, colour), `${this.#names.file}.png`);
  }

  #saveNumbers(): void {
    const { lines, points, view } = this.#curve;
    const rows = chartRows(this.#names.axis, lines, points, view.range, view.smoothing, charts.smoothed);
    saveBlob(new Blob([toCsv(rows)], { type: "text/csv;charset=utf-8" }), `${this.#names.file}.csv`);
  }
}
