/** A digit drawn by hand, as a question. */

import { requireElement } from "../lib/dom";
import type { QuestionForm } from "./question";
import { gridOf, type StrokePoint } from "./strokes";

const PEN = 18;

/** Asks at the end of each stroke. */
export function bindDrawing(widget: HTMLElement, { ask, forget }: QuestionForm): void {
  const canvas = requireElement<HTMLCanvasElement>(widget, "canvas");
  let strokes: StrokePoint[][] = [];
  let open: StrokePoint[] | null = null;

  let corner = { left: 0, top: 0 };

  const paint = () => drawStrokes(canvas, strokes);
  /** Positions are relative to the canvas at the stroke's begin: a page that grows above it does not bend lines. */
  const at = ({ clientX, clientY }: PointerEvent): StrokePoint => {
    const scale = canvas.width / canvas.clientWidth;
    return { x: (clientX - corner.left) * scale, y: (clientY - corner.top) * scale };
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const { left, top } = canvas.getBoundingClientRect();
    corner = { left: left + canvas.clientLeft, top: top + canvas.clientTop };
    open = [at(event)];
    strokes.push(open);
    paint();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!open) return;
    open.push(at(event));
    paint();
  });
  const end = () => {
    if (open) ask({ kind: "values", values: [...gridOf(strokes)] });
    open = null;
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  requireElement(widget, "clear").addEventListener("click", () => {
    strokes = [];
    paint();
    forget();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
}

function drawStrokes(canvas: HTMLCanvasElement, strokes: readonly (readonly StrokePoint[])[]): void {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.strokeStyle = getComputedStyle(canvas).getPropertyValue("--text").trim();
  pen.lineWidth = PEN;
  pen.lineCap = "round";
  pen.lineJoin = "round";
  for (const stroke of strokes) {
    pen.beginPath();
    for (const { x, y } of stroke) pen.lineTo(x, y);
    const [first] = stroke;
    if (first && stroke.length === 1) pen.lineTo(first.x + 0.1, first.y);
    pen.stroke();
  }
}
