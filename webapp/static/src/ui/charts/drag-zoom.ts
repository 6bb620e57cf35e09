/** Zooms a chart to the range over which a mouse, pen or finger is dragged. */

import type uPlot from "uplot";

/** Pixels below which a drag was a click. */
const LEAST_DRAG = 6;

/** Returns a plugin that calls `select` with the ends of a drag, and `reset` after a double click. */
export function dragZoom(select: (one: number, other: number) => void, reset: () => void): uPlot.Plugin {
  function bind(plot: uPlot): void {
    const { over } = plot;
    let begun: number | null = null;

    const place = (event: PointerEvent) => event.clientX - over.getBoundingClientRect().left;
    const mark = (left: number, width: number) =>
      plot.setSelect({ left, width, top: 0, height: width > 0 ? over.clientHeight : 0 }, false);

    over.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      begun = place(event);
      over.setPointerCapture(event.pointerId);
    });
    over.addEventListener("pointermove", (event) => {
      const now = Math.min(Math.max(0, place(event)), over.clientWidth);
      // uPlot follows a mouse by itself, but no finger.
      if (event.pointerType !== "mouse") plot.setCursor({ left: now, top: 0 });
      if (begun !== null) mark(Math.min(begun, now), Math.abs(now - begun));
    });
    over.addEventListener("pointerup", (event) => {
      if (begun === null) return;
      const [from, to] = [begun, place(event)];
      begun = null;
      mark(0, 0);
      if (Math.abs(to - from) >= LEAST_DRAG) select(plot.posToVal(from, "x"), plot.posToVal(to, "x"));
    });
    // The browser took the gesture over, such as for scrolling.
    over.addEventListener("pointercancel", () => {
      begun = null;
      mark(0, 0);
    });
    over.addEventListener("dblclick", reset);
  }
  return { hooks: { ready: bind } };
}
