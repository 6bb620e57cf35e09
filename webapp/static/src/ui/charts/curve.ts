/** Curves drawn with uPlot, which is fetched on first use, in the colours of the stylesheet. */

import type uPlot from "uplot";
import { language } from "../../i18n/language";
import {
  type ChartView,
  type CurveLine,
  type DrawnLine,
  drawnLines,
  lineSignature,
  type Points,
  WHOLE_VIEW,
} from "./lines";
import { type PlotFrame, plotOptions } from "./plot-options";

const HEIGHT = 220;
const DRAW_EVERY = 500;

/** uPlot formats numbers in the browser's language, which Intl may refuse: WebKitGTK without a locale says "C". */
function replaceUnknownLanguage(): void {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: language, configurable: true });
  }
}

export class Curve {
  readonly #host: HTMLElement;
  readonly #title: string;
  readonly #plugins: readonly uPlot.Plugin[];
  #lines: readonly CurveLine[];
  #points: Points = [];
  #view = WHOLE_VIEW;
  #drawn: readonly DrawnLine[] = [];
  #signature = "";
  #plot: uPlot | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `title` names the horizontal axis; `plugins` react to people. */
  constructor(
    host: HTMLElement,
    title: string,
    lines: readonly CurveLine[],
    plugins: readonly uPlot.Plugin[] = [],
  ) {
    this.#host = host;
    this.#title = title;
    this.#lines = lines;
    this.#plugins = plugins;
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(host);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => void this.#draw(true));
  }

  get view(): ChartView {
    return this.#view;
  }

  get points(): Points {
    return this.#points;
  }

  get lines(): readonly CurveLine[] {
    return this.#lines;
  }

  /** The canvas, once it is drawn. */
  get canvas(): HTMLCanvasElement | null {
    return this.#plot?.ctx.canvas ?? null;
  }

  /** Shows these points, of `lines` if they are others than before. Fewer than two points are not shown. */
  show(points: Points, lines = this.#lines): void {
    this.#points = points;
    this.#lines = lines;
    // One point is no curve.
    this.#host.hidden = (points[0]?.length ?? 0) < 2;
    // Drawing takes time from training: twice a second is enough.
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#draw(false);
    }, DRAW_EVERY);
  }

  /** Shows the same points in another way, at once. */
  look(view: Partial<ChartView>): void {
    this.#view = { ...this.#view, ...view };
    void this.#draw(false);
  }

  async #draw(rebuild: boolean): Promise<void> {
    // A page without a curve does not fetch uPlot.
    if (this.#host.hidden) return;
    replaceUnknownLanguage();
    const { default: Plot } = await import("uplot");
    if (this.#host.hidden) return;
    const drawn = drawnLines(this.#lines, this.#points, this.#view);
    const data = [
      this.#points[0] ?? [],
      ...drawn.map(({ column }) => column),
    ] as unknown as uPlot.AlignedData;
    const signature = lineSignature(drawn, this.#view);
    const isSame = signature === this.#signature;
    this.#signature = signature;
    this.#drawn = drawn;
    if (this.#plot && isSame && !rebuild) {
      this.#plot.setData(data);
      return;
    }
    const hadFocus = this.#host.contains(document.activeElement);
    this.#plot?.destroy();
    this.#plot = new Plot(
      plotOptions(() => this.#drawn, this.#frame()),
      data,
      this.#host,
    );
    if (hadFocus) this.#plot.over.focus();
  }

  #frame(): PlotFrame {
    const style = getComputedStyle(this.#host);
    return {
      title: this.#title,
      size: this.#size(),
      colour: (property) => style.getPropertyValue(property).trim(),
      view: () => this.#view,
      plugins: this.#plugins,
    };
  }

  #size(): { width: number; height: number } {
    return { width: this.#host.clientWidth, height: HEIGHT };
  }
}
