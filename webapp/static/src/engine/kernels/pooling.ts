/** Gradients of pooling. */

import { Geometry } from "./geometry";

/**
 * Images [begin, end) of dx [N, H, W, C] from the pooled input x and dy [N, outH, outW, C]. Of equal values the first
 * gets the gradient, as in TensorFlow; windows of NaN pass none on.
 */
export function maxPoolGradient(x: usize, dy: usize, dx: usize, geometry: usize, begin: i32, end: i32): void {
  const g = changetype<Geometry>(geometry);
  const pixel = <usize>g.channels << 2;
  const line = <usize>g.inWidth * pixel;
  memory.fill(dx + <usize>begin * g.imageBytes, 0, <usize>(end - begin) * g.imageBytes);
  let gradient = dy + <usize>(begin * g.outHeight * g.outWidth) * pixel;
  for (let n = begin; n < end; n++) {
    const image = <usize>n * g.imageBytes;
    for (let row = 0; row < g.outHeight; row++) {
      const top = row * g.strideHeight - g.top;
      const first = max(top, 0);
      const lines = min(top + g.height, g.inHeight) - first;
      for (let column = 0; column < g.outWidth; column++, gradient += pixel) {
        const left = column * g.strideWidth - g.left;
        const start = max(left, 0);
        const width = min(left + g.width, g.inWidth) - start;
        const at = image + <usize>first * line + <usize>start * pixel;
        let c: usize = 0;
        for (; c + 16 <= pixel; c += 16) passFour(x + at + c, gradient + c, dx + at + c, lines, width, line, pixel);
        for (; c < pixel; c += 4) passOne(x + at + c, gradient + c, dx + at + c, lines, width, line, pixel);
      }
    }
  }
}

/** One window, four channels. */
// @ts-ignore: decorator
@inline
function passFour(x: usize, dy: usize, dx: usize, lines: i32, width: i32, line: usize, pixel: usize): void {
  let largest = f32x4.splat(-Infinity);
  let place = i32x4.splat(-1);
  let tap = i32x4.splat(0);
  const one = i32x4.splat(1);
  for (let i = 0, start = x; i < lines; i++, start += line) {
    for (let j = 0, at = start; j < width; j++, at += pixel) {
      const value = v128.load(at);
      const larger = f32x4.gt(value, largest);
      largest = v128.bitselect(value, largest, larger);
      place = v128.bitselect(tap, place, larger);
      tap = i32x4.add(tap, one);
    }
  }
  const gradient = v128.load(dy);
  tap = i32x4.splat(0);
  for (let i = 0, start = dx; i < lines; i++, start += line) {
    for (let j = 0, at = start; j < width; j++, at += pixel) {
      const mine = v128.and(gradient, i32x4.eq(tap, place));
      v128.store(at, f32x4.add(v128.load(at), mine));
      tap = i32x4.add(tap, one);
    }
  }
}

/** One window, one channel. */
function passOne(x: usize, dy: usize, dx: usize, lines: i32, width: i32, line: usize, pixel: usize): void {
  let largest: f32 = -Infinity;
  let place: usize = usize.MAX_VALUE;
  for (let i = 0; i < lines; i++) {
    for (let j = 0; j < width; j++) {
      const at = <usize>i * line + <usize>j * pixel;
      const value = load<f32>(x + at);
      if (value > largest) {
        largest = value;
        place = at;
      }
    }
  }
  if (place != usize.MAX_VALUE) store<f32>(dx + place, load<f32>(dx + place) + load<f32>(dy));
}
