/** "Try the model": draw a digit, and the current version says what it sees. */

import { Trainer } from "../network/trainer";
import { percent } from "../shared/format";
import { part, write } from "./dom";
import { gridOf, type Point } from "./strokes";

const PEN = 18;

export function bindTry(widget: HTMLElement): void {
  const canvas = part<HTMLCanvasElement>(widget, "canvas");
  const guess = part(widget, "guess");
  const ask = asker(widget.dataset.bundle ?? "");
  let strokes: Point[][] = [];
  let open: Point[] | null = null;
  let asked = 0;

  const paint = () => drawStrokes(canvas, strokes);
  const at = ({ offsetX, offsetY }: PointerEvent): Point => {
    const scale = canvas.width / canvas.clientWidth;
    return { x: offsetX * scale, y: offsetY * scale };
  };

  async function answer(): Promise<void> {
    asked += 1;
    const mine = asked;
    write(guess, "Looking at it …");
    try {
      const chances = await ask(part<HTMLDataElement>(widget, "weights").value, gridOf(strokes));
      if (mine === asked) showChances(widget, chances);
    } catch (error) {
      write(guess, `The model cannot be asked now. ${error instanceof Error ? error.message : ""}`);
    }
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
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
    if (open) void answer();
    open = null;
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  part(widget, "clear").addEventListener("click", () => {
    strokes = [];
    asked += 1;
    paint();
    showChances(widget, null);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  part(widget, "board").hidden = false;
}

/** Starts the worker on first use. WebAssembly answers fastest for one small picture; JavaScript works everywhere. */
function asker(bundle: string): (weights: string, input: Float32Array) => Promise<Float32Array> {
  const trainer = async () => {
    const fresh = new Trainer();
    const address = lastPart(bundle);
    await fresh
      .load(location.origin, address, "wasm")
      .catch(() => fresh.load(location.origin, address, "cpu"));
    return fresh;
  };
  let started: Promise<Trainer> | null = null;
  return async (weights, input) => {
    started ??= trainer();
    // A worker that did not load is forgotten, so that the next stroke tries again.
    started.catch(() => {
      started = null;
    });
    return (await started).predict(lastPart(weights), input);
  };
}

/** The hash at the end of an address such as `/blobs/<hash>`. */
function lastPart(address: string): string {
  return address.split("/").pop() ?? "";
}

function drawStrokes(canvas: HTMLCanvasElement, strokes: readonly (readonly Point[])[]): void {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.strokeStyle = getComputedStyle(canvas).getPropertyValue("--ink").trim();
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

function showChances(widget: HTMLElement, chances: Float32Array | null): void {
  const rows = [...part(widget, "bars").children];
  const best = chances ? chances.indexOf(Math.max(...chances)) : -1;
  rows.forEach((row, index) => {
    const chance = chances?.[index] ?? null;
    const [label, bar, value] = row.children;
    row.classList.toggle("best", index === best);
    if (bar instanceof HTMLProgressElement) bar.value = chance ?? 0;
    if (value) value.textContent = percent(chance);
    if (index === best)
      write(part(widget, "guess"), `It sees ${label?.textContent ?? ""}: ${percent(chance)} sure.`);
  });
  if (best < 0) write(part(widget, "guess"), "Draw one digit, large, in the square.");
}
