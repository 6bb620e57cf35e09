/** Draws a spectrogram: time from left to right, high frequencies above, loud ones light. */

import type { AudioRule } from "../declaration";
import { frameCount } from "./spectrogram";

/** A picture in RGBA, row by row. */
export interface SpectrogramPixels {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

/** Returns the picture of the stored values of a recording, a pixel for each value. */
export function drawSpectrogram(values: ArrayLike<number>, rule: AudioRule): SpectrogramPixels {
  const [width, height] = [frameCount(rule), rule.bins];
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < values.length; i++) {
    least = Math.min(least, values[i] as number);
    most = Math.max(most, values[i] as number);
  }
  const scale = most > least ? 255 / (most - least) : 0;
  const pixels = new Uint8ClampedArray(4 * width * height).fill(255);
  for (let frame = 0; frame < width; frame++) {
    for (let bin = 0; bin < height; bin++) {
      const level = ((values[frame * height + bin] as number) - least) * scale;
      const at = 4 * ((height - 1 - bin) * width + frame);
      pixels.fill(level, at, at + 3);
    }
  }
  return { width, height, pixels };
}
