/** Moves along a chart by the keyboard: it is a slider over its steps, whose text has the values of all curves. */

import type uPlot from "uplot";
import { nearestIndex } from "./ranges";

/** Points that Page Up and Page Down pass. */
const PAGE = 10;

export interface StepKeys {
  /** What the slider is called. */
  readonly label: string;
  /** Called with the index of the point in front of a person, before its values are shown. */
  readonly reach: (place: number) => void;
  readonly zoom: (factor: number, centre: number) => void;
  readonly reset: () => void;
}

/** Returns the index that `key` leads to from `index`; null for keys that move nothing. */
export function indexAfter(key: string, index: number, count: number): number | null {
  const moves: Readonly<Record<string, number>> = {
    ArrowLeft: index - 1,
    ArrowDown: index - 1,
    ArrowRight: index + 1,
    ArrowUp: index + 1,
    PageDown: index - PAGE,
    PageUp: index + PAGE,
    Home: 0,
    End: count - 1,
  };
  const moved = moves[key];
  return moved === undefined || count === 0 ? null : Math.min(Math.max(0, moved), count - 1);
}

export function stepKeys({ label, reach, zoom, reset }: StepKeys): uPlot.Plugin {
  const acts: Readonly<Record<string, (place: number) => void>> = {
    "+": (place) => zoom(0.5, place),
    "-": (place) => zoom(2, place),
    Escape: reset,
  };

  /** The point that a key led to while the cursor is still on its way. */
  let ahead: number | null = null;

  function bind(plot: uPlot): void {
    const { over } = plot;
    over.tabIndex = 0;
    over.setAttribute("role", "slider");
    over.setAttribute("aria-label", label);
    tell(plot, plot.data[0].length - 1);
    over.addEventListener("focus", () => {
      // A mouse puts the cursor where it points.
      if (plot.cursor.idx === null && over.matches(":focus-visible"))
        show(plot, Number(over.getAttribute("aria-valuenow")));
    });
    over.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const act = acts[event.key];
      const place = ahead ?? placeOf(plot);
      const index = nearestIndex([...plot.data[0]], place);
      const moved = indexAfter(event.key, index, plot.data[0].length);
      if (moved !== null) show(plot, plot.data[0][moved] ?? 0);
      else if (act) act(place);
      else return;
      event.preventDefault();
    });
  }

  function show(plot: uPlot, place: number): void {
    reach(place);
    ahead = place;
    // The chart draws another part after this event; a quick hand's next key may come before.
    setTimeout(() => {
      plot.setCursor({ left: plot.valToPos(place, "x"), top: 0 });
      if (ahead === place) ahead = null;
    });
  }

  /** Says the values of a point where screen readers find them. */
  function tell(plot: uPlot, index: number): void {
    const { over, series, data } = plot;
    over.setAttribute("aria-valuemin", String(data[0][0] ?? 0));
    over.setAttribute("aria-valuemax", String(data[0].at(-1) ?? 0));
    over.setAttribute("aria-valuenow", String(data[0][index] ?? 0));
    const text = ({ value }: uPlot.Series, at: number) =>
      typeof value === "function" ? String(value(plot, data[at]?.[index] as number, at, index)) : "";
    const texts = series
      .map((one, at) => ({ label: String(one.label), text: text(one, at), isBehind: one.class === "behind" }))
      .filter((one) => !one.isBehind)
      .map((one) => `${one.label} ${one.text}`);
    over.setAttribute("aria-valuetext", texts.join(", "));
  }

  function follow(plot: uPlot): void {
    const { idx } = plot.cursor;
    if (typeof idx === "number") tell(plot, idx);
  }
  return { hooks: { ready: bind, setCursor: follow, setData: (plot) => tell(plot, lastShown(plot)) } };
}

/** Returns the place of the cursor, or of what was told last where there is none. */
function placeOf(plot: uPlot): number {
  const { idx } = plot.cursor;
  const at = typeof idx === "number" ? plot.data[0][idx] : undefined;
  return at ?? Number(plot.over.getAttribute("aria-valuenow"));
}

function lastShown(plot: uPlot): number {
  const { idx } = plot.cursor;
  return typeof idx === "number" ? Math.min(idx, plot.data[0].length - 1) : plot.data[0].length - 1;
}
