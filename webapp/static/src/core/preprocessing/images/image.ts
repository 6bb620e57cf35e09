/** Converts a decoded picture to the bytes that are stored: flattened, fitted and resized, all in integers. */

import type { Fit, ImageRule } from "../declaration";
import { flatten, luma, type Pixels } from "./pixels";
import { axisTaps, type Span, type Taps } from "./resize-weights";

/** One axis: the part of the source, and the target pixels that it fills. */
interface PlacedImage {
  readonly source: Span;
  readonly first: number;
  readonly count: number;
}

interface Placement {
  readonly x: PlacedImage;
  readonly y: PlacedImage;
}

function whole(n: number, m: number): PlacedImage {
  return { source: { start: 0, length: n }, first: 0, count: m };
}

function middle(n: number, length: number, m: number): PlacedImage {
  return { source: { start: (n - length) / 2, length }, first: 0, count: m };
}

function inside(n: number, inner: number, outer: number): PlacedImage {
  return { source: { start: 0, length: n }, first: Math.floor((outer - inner) / 2), count: inner };
}

/** Returns the placement of a picture of `w` by `h` pixels in a target of `width` by `height`. */
export function placement(fit: Fit, w: number, h: number, width: number, height: number): Placement {
  switch (fit) {
    case "stretch":
      return { x: whole(w, width), y: whole(h, height) };
    case "cover":
      return w * height <= h * width
        ? { x: whole(w, width), y: middle(h, (w * height) / width, height) }
        : { x: middle(w, (h * width) / height, width), y: whole(h, height) };
    case "contain": {
      const wide = w * height >= h * width;
      const innerWidth = wide ? width : Math.max(1, Math.floor((w * height) / h + 0.5));
      const innerHeight = wide ? Math.max(1, Math.floor((h * width) / w + 0.5)) : height;
      return { x: inside(w, innerWidth, width), y: inside(h, innerHeight, height) };
    }
  }
}

/** Returns weighted sums along each row, for the rows `from` to `until`; exact in float64. */
function across(source: Pixels, taps: readonly Taps[], from: number, until: number): Float64Array {
  const { width, channels, values } = source;
  const out = new Float64Array((until - from) * taps.length * channels);
  let to = 0;
  for (let y = from; y < until; y++) {
    for (const { first, weights } of taps) {
      const start = (y * width + first) * channels;
      for (let channel = 0; channel < channels; channel++) {
        let sum = 0;
        for (let k = 0, at = start + channel; k < weights.length; k++, at += channels) {
          sum += (weights[k] as number) * (values[at] as number);
        }
        out[to++] = sum;
      }
    }
  }
  return out;
}

function byte(sum: number): number {
  return Math.min(255, Math.max(0, Math.floor((sum + 2 ** 39) / 2 ** 40)));
}

/** Returns the placed part of the source, [y.count, x.count, channels]. */
function resized(source: Pixels, rule: ImageRule, { x, y }: Placement): Uint8Array {
  const columns = axisTaps(rule.resize, source.width, x.source, x.count);
  const rows = axisTaps(rule.resize, source.height, y.source, y.count);
  const from = Math.min(...rows.map(({ first }) => first));
  const until = Math.max(...rows.map(({ first, weights }) => first + weights.length));
  const sums = across(source, columns, from, until);
  const width = x.count * source.channels;
  const out = new Uint8Array(y.count * width);
  rows.forEach(({ first, weights }, o) => {
    for (let at = 0; at < width; at++) {
      let sum = 0;
      for (let k = 0; k < weights.length; k++) {
        sum += (weights[k] as number) * (sums[(first - from + k) * width + at] as number);
      }
      out[o * width + at] = byte(sum);
    }
  });
  return out;
}

/** Returns the stored value [height, width, channels] of a picture in RGBA, in its display orientation. */
export function imageValues(rgba: Pixels, rule: ImageRule): Uint8Array {
  const [height, width] = rule.size;
  const place = placement(rule.fit, rgba.width, rgba.height, width, height);
  const inner = resized(flatten(rgba, rule.channels, rule.background), rule, place);
  const { x, y } = place;
  if (x.count === width && y.count === height) return inner;
  const background = rule.channels === 1 ? [luma(...rule.background)] : rule.background;
  const out = new Uint8Array(height * width * rule.channels);
  for (let i = 0; i < out.length; i++) out[i] = background[i % rule.channels] as number;
  const line = x.count * rule.channels;
  for (let row = 0; row < y.count; row++) {
    out.set(
      inner.subarray(row * line, (row + 1) * line),
      ((y.first + row) * width + x.first) * rule.channels,
    );
  }
  return out;
}
