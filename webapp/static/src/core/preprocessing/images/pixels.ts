/** Converts decoded pixels of four channels to the channels that a model takes. */

/** Pixels of 8 bits, row by row, channels last. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly values: Uint8Array | Uint8ClampedArray;
}

type Colour = readonly [number, number, number];

function over(value: number, alpha: number, background: number): number {
  return Math.floor((value * alpha + background * (255 - alpha) + 127) / 255);
}

/** ITU-R 601 luma; a gray pixel keeps its value. */
export function luma(red: number, green: number, blue: number): number {
  return Math.floor((19595 * red + 38470 * green + 7471 * blue + 32768) / 65536);
}

/** Blends RGBA with the background, then converts to gray if `channels` is 1. */
export function flatten(rgba: Pixels, channels: 1 | 3, [r, g, b]: Colour): Pixels {
  const { width, height, values } = rgba;
  const out = new Uint8Array(width * height * channels);
  for (let from = 0, to = 0; from < values.length; from += 4, to += channels) {
    const alpha = values[from + 3] as number;
    const red = over(values[from] as number, alpha, r);
    const green = over(values[from + 1] as number, alpha, g);
    const blue = over(values[from + 2] as number, alpha, b);
    if (channels === 1) out[to] = luma(red, green, blue);
    else {
      out[to] = red;
      out[to + 1] = green;
      out[to + 2] = blue;
    }
  }
  return { width, height, channels, values: out };
}
