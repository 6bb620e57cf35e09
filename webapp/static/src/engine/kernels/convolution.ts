/**
 * Convolutions of x [N, H, W, C] with a filter [h, w, C, K], and their gradients, image by image. An image is copied
 * into a frame of zeros first: no window then leaves it, and each line of a window lies together in memory.
 */

import { frame, Geometry, unframe } from "./geometry";
import { COLUMNS, FROM_BIAS, FROM_RESULT, FROM_ZERO, pack, PANEL_ROW, ROWS, SPARE, tile } from "./tile";

/** Positions of dy that are packed at a time: 16 KiB. */
const POSITIONS: i32 = 512;

/**
 * Images [begin, end) of out [N, outH, outW, K] = max(x * filter + bias, floor). With `turned`, the filter is one of
 * [h, w, K, C] that is turned by 180 degrees: so a gradient becomes a convolution. `bias` may be 0: none.
 * Scratch: SPARE, the frame, and K rounded up to 8 times (h * w * C + 1) floats.
 */
export function convolve(
  x: usize,
  filter: usize,
  out: usize,
  geometry: usize,
  bias: usize,
  floor: f32,
  turned: i32,
  scratch: usize,
  begin: i32,
  end: i32,
): void {
  const g = changetype<Geometry>(geometry);
  const depth = g.height * g.line;
  const framed = scratch + SPARE;
  const panels = framed + (g.inside ? 0 : g.frameBytes);
  packFilter(filter, bias, g, turned, panels);
  const start = bias != 0 ? FROM_BIAS : FROM_ZERO;
  const pitch = <usize>g.outChannels << 2;
  const outBytes = <usize>(g.outHeight * g.outWidth) * pitch;
  for (let n = begin; n < end; n++) {
    const image = x + <usize>n * g.imageBytes;
    if (!g.inside) frame(image, g, framed);
    const from = g.inside ? image : framed;
    let panel = panels;
    for (let k = 0; k < g.outChannels; k += COLUMNS) {
      const target = out + <usize>n * outBytes + (<usize>k << 2);
      convolvePanel(from, g, panel, target, pitch, min(COLUMNS, g.outChannels - k), start, floor, scratch);
      panel += <usize>(depth + 1) * PANEL_ROW;
    }
  }
}

/** Packs a filter into panels; each begins with its row of biases. */
function packFilter(filter: usize, bias: usize, g: Geometry, turned: i32, panel: usize): void {
  const taps = g.height * g.width;
  const inputs = g.channels;
  const outputs = g.outChannels;
  for (let k = 0; k < outputs; k += COLUMNS) {
    const width = min(COLUMNS, outputs - k);
    if (bias != 0) pack(bias + (<usize>k << 2), 0, 4, 1, width, panel);
    panel += PANEL_ROW;
    if (turned) {
      for (let tap = taps - 1; tap >= 0; tap--) {
        const from = filter + (<usize>((tap * outputs + k) * inputs) << 2);
        pack(from, 4, <usize>inputs << 2, inputs, width, panel);
        panel += <usize>inputs * PANEL_ROW;
      }
    } else {
      pack(filter + (<usize>k << 2), <usize>outputs << 2, 4, taps * inputs, width, panel);
      panel += <usize>(taps * inputs) * PANEL_ROW;
    }
  }
}

/** All positions of one image, up to 8 channels. */
function convolvePanel(
  from: usize,
  g: Geometry,
  panel: usize,
  out: usize,
  pitch: usize,
  width: i32,
  start: i32,
  floor: f32,
  spare: usize,
): void {
  const lineBytes = <usize>((g.inside ? g.inWidth : g.frameWidth) * g.channels) << 2;
  const stepBytes = <usize>(g.strideWidth * g.channels) << 2;
  const positions = g.outHeight * g.outWidth;
  const wrap = <usize>g.strideHeight * lineBytes - <usize>g.outWidth * stepBytes;
  let column = 0;
  let at = from;
  for (let p = 0; p < positions; p += ROWS) {
    const rows = min(ROWS, positions - p);
    for (let r = 0; r < rows; r++) {
      store<usize>(spare + (<usize>r << 2), at);
      at += stepBytes;
      if (++column == g.outWidth) {
        column = 0;
        at += wrap;
      }
    }
    const first = panel + PANEL_ROW;
    tile(rows, spare, 4, lineBytes, g.height, g.line, first, out, pitch, width, start, panel, floor);
    out += <usize>ROWS * pitch;
  }
}

/**
 * Rows [begin, end) of dw [h * w * C, K] from x [N, H, W, C] and dy [N, outH, outW, K]. Scratch: SPARE, the frame and
 * 32 bytes for each of up to 512 positions (or one line of them).
 */
export function filterGradient(
  x: usize,
  dy: usize,
  dw: usize,
  geometry: usize,
  images: i32,
  scratch: usize,
  begin: i32,
  end: i32,
): void {
  const g = changetype<Geometry>(geometry);
  const framed = scratch + SPARE;
  const panel = framed + (g.inside ? 0 : g.frameBytes);
  const pitch = <usize>g.outChannels << 2;
  const atOnce = max(POSITIONS / g.outWidth, 1);
  for (let n = 0; n < images; n++) {
    const image = x + <usize>n * g.imageBytes;
    if (!g.inside) frame(image, g, framed);
    const from = g.inside ? image : framed;
    for (let y = 0; y < g.outHeight; y += atOnce) {
      const lines = min(atOnce, g.outHeight - y);
      const gradient = dy + <usize>((n * g.outHeight + y) * g.outWidth) * pitch;
      const start = n + y > 0 ? FROM_RESULT : FROM_ZERO;
      for (let k = 0; k < g.outChannels; k += COLUMNS) {
        const width = min(COLUMNS, g.outChannels - k);
        pack(gradient + (<usize>k << 2), pitch, 4, lines * g.outWidth, width, panel);
        const target = dw + (<usize>k << 2);
        filterPanel(from, g, y, lines, panel, target, pitch, width, start, scratch, begin, end);
      }
    }
  }
}

/** Adds `lines` lines of one image, from line `y` of dy on, to rows [begin, end) of up to 8 columns of dw. */
function filterPanel(
  from: usize,
  g: Geometry,
  y: i32,
  lines: i32,
  panel: usize,
  dw: usize,
  pitch: usize,
  width: i32,
  start: i32,
  spare: usize,
  begin: i32,
  end: i32,
): void {
  const lineBytes = <usize>((g.inside ? g.inWidth : g.frameWidth) * g.channels) << 2;
  const step = <usize>(g.strideWidth * g.channels) << 2;
  const down = <usize>g.strideHeight * lineBytes;
  const wrap = lineBytes - (<usize>g.line << 2);
  let column = begin % g.line;
  let at = from + <usize>y * down + <usize>(begin / g.line) * lineBytes + (<usize>column << 2);
  for (let row = begin; row < end; row += ROWS) {
    const rows = min(ROWS, end - row);
    for (let r = 0; r < rows; r++) {
      store<usize>(spare + (<usize>r << 2), at);
      at += 4;
      if (++column == g.line) {
        column = 0;
        at += wrap;
      }
    }
    const out = dw + <usize>row * pitch;
    tile(rows, spare, step, down, lines, g.outWidth, panel, out, pitch, width, start, 0, -Infinity);
  }
}

/**
 * Images [begin, end) of dx [N, H, W, C]: each row of columns [N * outH * outW, h * w * C] is added where its window
 * lies. Scratch: the frame.
 */
export function fold(columns: usize, dx: usize, geometry: usize, scratch: usize, begin: i32, end: i32): void {
  const g = changetype<Geometry>(geometry);
  const lineBytes = <usize>(g.frameWidth * g.channels) << 2;
  const stepBytes = <usize>(g.strideWidth * g.channels) << 2;
  const length = <usize>g.line << 2;
  let source = columns + <usize>(begin * g.outHeight * g.outWidth * g.height) * length;
  for (let n = begin; n < end; n++) {
    memory.fill(scratch, 0, g.frameBytes);
    for (let y = 0; y < g.outHeight; y++) {
      let window = scratch + <usize>(y * g.strideHeight) * lineBytes;
      for (let x = 0; x < g.outWidth; x++) {
        let target = window;
        for (let h = 0; h < g.height; h++) {
          addLine(source, target, length);
          source += length;
          target += lineBytes;
        }
        window += stepBytes;
      }
    }
    unframe(scratch, g, dx + <usize>n * g.imageBytes);
  }
}

// @ts-ignore: decorator
@inline
function addLine(from: usize, to: usize, length: usize): void {
  const whole = length & ~15;
  let i: usize = 0;
  for (; i < whole; i += 16) v128.store(to + i, f32x4.add(v128.load(to + i), v128.load(from + i)));
  for (; i < length; i += 4) store<f32>(to + i, load<f32>(to + i) + load<f32>(from + i));
}
