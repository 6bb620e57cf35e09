/** A pad for drawings: dark lines on light paper, or light ones where the task's pictures have a dark ground. */

import type { ImageRule } from "../../../core/preprocessing/declaration";

const PEN = 18;

/** Owns what is drawn on the canvas. */
export class DrawingPad {
  readonly #paper: string;
  readonly #ink: string;
  #drawn = false;
  #last: readonly [number, number] | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    { background }: ImageRule,
  ) {
    const [red, green, blue] = background;
    this.#paper = `rgb(${red}, ${green}, ${blue})`;
    this.#ink = red + green + blue < 384 ? "white" : "black";
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.#line(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (this.#last) this.#line(event);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(end, () => {
        this.#last = null;
      });
    }
    this.wipe();
  }

  /** Clears the pad. */
  wipe(): void {
    const pen = this.canvas.getContext("2d");
    if (pen) {
      pen.fillStyle = this.#paper;
      pen.fillRect(0, 0, this.canvas.width, this.canvas.height);
    }
    this.#drawn = false;
  }

  /** Returns the drawing as a PNG; null if nothing is drawn. */
  picture(): Promise<Blob | null> {
    if (!this.#drawn) return Promise.resolve(null);
    return new Promise((resolve) => this.canvas.toBlob(resolve, "image/png"));
  }

  #line({ offsetX, offsetY }: PointerEvent): void {
    const pen = this.canvas.getContext("2d");
    if (!pen) return;
    const scale = this.canvas.width / this.canvas.clientWidth;
    const at = [offsetX * scale, offsetY * scale] as const;
    pen.strokeStyle = this.#ink;
    pen.lineWidth = PEN;
    pen.lineCap = "round";
    pen.beginPath();
    pen.moveTo(...(this.#last ?? at));
    pen.lineTo(...at);
    pen.stroke();
    this.#last = at;
    this.#drawn = true;
  }
}
