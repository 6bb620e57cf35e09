/** Curves drawn with uPlot, which is fetched on first use, in the colours of the stylesheet. */

import type uPlot from "uplot";
import { language } from "../../i18n/language";

const HEIGHT = 220;
const DRAW_EVERY = 500;

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
  readonly dashed?: boolean;
  /** Hidden, also in the legend, while it has no point; it shares the scale of another line. */
  readonly rare?: boolean;
}

/** uPlot formats numbers in the browser's language, which Intl may refuse: WebKitGTK without a locale says "C". */
function replaceUnknownLanguage(): void {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: language, configurable: true });
  }
}

export type Points = readonly (readonly (number | null)[])[];

export class Curve {
  readonly #host: HTMLElement;
  readonly #title: string;
  readonly #lines: readonly CurveLine[];
  #points: Points = [];
  #drawn: readonly CurveLine[] = [];
  #plot: uPlot | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `title` names the horizontal axis. */
  constructor(host: HTMLElement, title: string, lines: readonly CurveLine[]) {
    this.#host = host;
    this.#title = title;
    this.#lines = lines;
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(host);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => void this.#draw(true));
  }

  /** Shows these points: the horizontal values first, then one list a line. Fewer than two points are not shown. */
  show(points: Points): void {
    this.#points = points;
    // One point is no curve.
    this.#host.hidden = (points[0]?.length ?? 0) < 2;
    // Drawing takes time from training: twice a second is enough.
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#draw(false);
    }, DRAW_EVERY);
  }

  async #draw(redraw: boolean): Promise<void> {
    // A page without a curve does not fetch uPlot.
    if (this.#host.hidden) return;
    replaceUnknownLanguage();
    const { default: Plot } = await import("uplot");
    if (this.#host.hidden) return;
    const isDrawn = (line: CurveLine, index: number) =>
      !line.rare || (this.#points[index + 1]?.some((value) => value !== null) ?? false);
    const drawn = this.#lines.filter(isDrawn);
    const data = this.#points.filter((_, index) => {
      const line = this.#lines[index - 1];
      return line === undefined || drawn.includes(line);
    }) as uPlot.AlignedData;
    const same = drawn.length === this.#drawn.length;
    this.#drawn = drawn;
    if (this.#plot && same && !redraw) {
      this.#plot.setData(data);
      return;
    }
    this.#plot?.destroy();
    this.#plot = new Plot(this.#options(), data, this.#host);
  }

  #size(): { width: number; height: number } {
    return { width: this.#host.clientWidth, height: HEIGHT };
  }

  #options(): uPlot.Options {
    const colour = (property: string) => getComputedStyle(this.#host).getPropertyValue(property).trim();
    const [ink, grid] = [colour("--text-muted"), colour("--border")];
    const own = this.#drawn.filter(({ scale }) => scale === undefined);
    const font = "12px system-ui, sans-serif";
    const common = { stroke: ink, font, labelFont: font, ticks: { show: false } };
    return {
      ...this.#size(),
      scales: {
        x: { time: false },
        ...Object.fromEntries(
          own.map(({ label, range }) => [label, range ? { range: [range[0], range[1]] } : {}]),
        ),
      },
      cursor: { show: false },
      legend: {
        live: false,
        markers: { width: 0, fill: (_, index) => colour(this.#drawn[index - 1]?.colour ?? "--text-muted") },
      },
      series: [
        { label: this.#title },
        ...this.#drawn.map(({ label, colour: property, faint, dashed, scale }) => ({
          label,
          scale: scale ?? label,
          stroke: colour(property),
          width: faint ? 1 : 2,
          alpha: faint ? 0.35 : 1,
          ...(dashed && { dash: [4, 4] }),
          spanGaps: true,
          points: { show: false },
        })),
      ],
      axes: [
        {
          ...common,
          label: this.#title,
          size: 28,
          labelSize: 20,
          grid: { stroke: grid, width: 1 },
          incrs: WHOLE,
        },
        ...own.map(({ label, side, format, colour: property }) => ({
          ...common,
          // With two axes, each has the colour of its line.
          stroke: own.length > 1 ? colour(property) : ink,
          scale: label,
          side: side === "left" ? 3 : 1,
          size: 46,
          grid: { show: side === "left", stroke: grid, width: 1 },
          values: (_: uPlot, splits: number[]) => splits.map(format),
        })),
      ],
    };
  }
}

/** Versions and steps are whole numbers: there are no ticks between them. */
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
