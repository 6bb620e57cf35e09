/**
 * Gradients of depthwise convolutions of x [N, H, W, C] with a filter [h, w, C, 1]. Images are framed by zeros as in
 * convolution.ts.
 */

import { frame, Geometry, unframe } from "./geometry";

/** Images [begin, end) of dx [N, H, W, C] from dy [N, outH, outW, C]. Scratch: the frame. */
export function depthwiseInputGradient(
  filter: usize,
  dy: usize,
  dx: usize,
  geometry: usize,
  scratch: usize,
  begin: i32,
  end: i32,
): void {
  const g = changetype<Geometry>(geometry);
  const pixel = <usize>g.channels << 2;
  const lineBytes = <usize>g.frameWidth * pixel;
  for (let n = begin; n < end; n++) {
    memory.fill(scratch, 0, g.frameBytes);
    let gradient = dy + <usize>(n * g.outHeight * g.outWidth) * pixel;
    for (let y = 0; y < g.outHeight; y++) {
      for (let x = 0; x < g.outWidth; x++, gradient += pixel) {
        const window = scratch + <usize>(y * g.strideHeight) * lineBytes + <usize>(x * g.strideWidth) * pixel;
        let weights = filter;
        for (let h = 0; h < g.height; h++) {
          for (let w = 0; w < g.width; w++, weights += pixel) {
            addProduct(gradient, weights, window + <usize>h * lineBytes + <usize>w * pixel, pixel);
          }
        }
      }
    }
    unframe(scratch, g, dx + <usize>n * g.imageBytes);
  }
}

/** out += a * b, `length` bytes. */
// @ts-ignore: decorator
@inline
function addProduct(a: usize, b: usize, out: usize, length: usize): void {
  const whole = length & ~15;
  let i: usize = 0;
  for (; i < whole; i += 16) {
    const product = f32x4.mul(v128.load(a + i), v128.load(b + i));
    v128.store(out + i, f32x4.add(v128.load(out + i), product));
  }
  for (; i < length; i += 4) store<f32>(out + i, load<f32>(out + i) + load<f32>(a + i) * load<f32>(b + i));
}

/**
 * Groups [begin, end) of four channels of dw [h, w, C, 1] from x [N, H, W, C] and dy [N, outH, outW, C]. Scratch: the
 * frame.
 */
export function depthwiseFilterGradient(
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
  const pixel = <usize>g.channels << 2;
  const lineBytes = <usize>g.frameWidth * pixel;
  const outLine = <usize>g.outWidth * pixel;
  const first = <usize>begin << 4;
  const last = min(<usize>end << 4, pixel);
  const taps = g.height * g.width;
  for (let tap = 0; tap < taps; tap++) memory.fill(dw + <usize>tap * pixel + first, 0, last - first);
  for (let n = 0; n < images; n++) {
    frame(x + <usize>n * g.imageBytes, g, scratch);
    const gradient = dy + <usize>(n * g.outHeight) * outLine;
    for (let tap = 0; tap < taps; tap++) {
      const shift = <usize>(tap / g.width) * lineBytes + <usize>(tap % g.width) * pixel;
      let i = first;
      for (; i + 16 <= last; i += 16) {
        const sum = sumFour(scratch + shift + i, gradient + i, g, lineBytes, pixel);
        const to = dw + <usize>tap * pixel + i;
        v128.store(to, f32x4.add(v128.load(to), sum));
      }
      for (; i < last; i += 4) {
        const to = dw + <usize>tap * pixel + i;
        store<f32>(to, load<f32>(to) + sumOne(scratch + shift + i, gradient + i, g, lineBytes, pixel));
      }
    }
  }
}

/** Sums of x * dy over all positions of one image, for four channels. */
// @ts-ignore: decorator
@inline
function sumFour(x: usize, dy: usize, g: Geometry, lineBytes: usize, pixel: usize): v128 {
  const step = <usize>g.strideWidth * pixel;
  const down = <usize>g.strideHeight * lineBytes;
  let sum = f32x4.splat(0);
  for (let i = 0; i < g.outHeight; i++, x += down) {
    for (let j = 0, at = x; j < g.outWidth; j++, at += step, dy += pixel) {
      sum = f32x4.add(sum, f32x4.mul(v128.load(at), v128.load(dy)));
    }
  }
  return sum;
}

function sumOne(x: usize, dy: usize, g: Geometry, lineBytes: usize, pixel: usize): f32 {
  const step = <usize>g.strideWidth * pixel;
  const down = <usize>g.strideHeight * lineBytes;
  let sum: f32 = 0;
  for (let i = 0; i < g.outHeight; i++, x += down) {
    for (let j = 0, at = x; j < g.outWidth; j++, at += step, dy += pixel) sum += load<f32>(at) * load<f32>(dy);
  }
  return sum;
}
