/** The curve of the loss of this device's own steps. */

import { say } from "../../i18n";
import { decimal } from "../../i18n/formatting";
import { Curve } from "../charts/curve";
import { requireElement } from "../lib/dom";

/** The number of latest steps in the curve. */
const STEPS_SHOWN = 600;

export class LossCurve {
  readonly #root: HTMLElement;
  readonly #curve: Curve;
  /** The latest steps: number, trend of the loss (exponential mean), loss. */
  readonly #learned: { step: number; trend: number; loss: number }[] = [];

  constructor(root: HTMLElement) {
    this.#root = root;
    this.#curve = new Curve(requireElement(root, "curve-mine"), say.curves.step, [
      { label: say.curves.trend, colour: "--accent", side: "left", format: decimal },
      {
        label: say.curves.eachStep,
        colour: "--text-muted",
        side: "left",
        format: decimal,
        scale: say.curves.trend,
        faint: true,
      },
    ]);
  }

  /** Adds the loss of a finished step. */
  add(loss: number): void {
    const previous = this.#learned.at(-1) ?? { step: 0, trend: loss };
    this.#learned.push({ step: previous.step + 1, trend: 0.8 * previous.trend + 0.2 * loss, loss });
    if (this.#learned.length > STEPS_SHOWN) this.#learned.shift();
  }

  show(): void {
    requireElement(this.#root, "mine-none").hidden = this.#learned.length > 1;
    this.#curve.show([
      this.#learned.map(({ step }) => step),
      this.#learned.map(({ trend }) => trend),
      this.#learned.map(({ loss }) => loss),
    ]);
  }
}
