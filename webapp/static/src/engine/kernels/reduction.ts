/** Sums. They are kept in 64 bits: long ones lose nothing. */

/** Columns that one part of `sumMiddle` adds up. */
const CHUNK: i32 = 8;

/**
 * out [outer, inner] = scale * sum over the middle axis of x [outer, middle, inner]. A part is one of `outer`, or for
 * inner > 1 eight of its columns.
 */
export function sumMiddle(
  x: usize,
  out: usize,
  middle: i32,
  inner: i32,
  scale: f32,
  begin: i32,
  end: i32,
): void {
  if (inner == 1) {
    for (let n = begin; n < end; n++) {
      store<f32>(out + (<usize>n << 2), <f32>(line(x + (<usize>(n * middle) << 2), middle) * <f64>scale));
    }
    return;
  }
  const pitch = <usize>inner << 2;
  const chunks = (inner + CHUNK - 1) / CHUNK;
  for (let n = begin; n < end; n++) {
    const outer = n / chunks;
    const first = (n - outer * chunks) * CHUNK;
    const from = x + <usize>(outer * middle) * pitch + (<usize>first << 2);
    const to = out + <usize>outer * pitch + (<usize>first << 2);
    const width = min(CHUNK, inner - first);
    if (width == CHUNK) columns(from, to, middle, pitch, scale);
    else for (let i: usize = 0; i < <usize>width; i++) column(from + 4 * i, to + 4 * i, middle, pitch, scale);
  }
}

/** Sum of `length` numbers in a row. */
function line(x: usize, length: i32): f64 {
  let s0 = f64x2.splat(0);
  let s1 = s0;
  let i = 0;
  for (; i + 4 <= length; i += 4, x += 16) {
    const four = v128.load(x);
    s0 = f64x2.add(s0, f64x2.promote_low_f32x4(four));
    s1 = f64x2.add(s1, f64x2.promote_low_f32x4(i64x2.shuffle(four, four, 1, 1)));
  }
  s0 = f64x2.add(s0, s1);
  let sum = f64x2.extract_lane(s0, 0) + f64x2.extract_lane(s0, 1);
  for (; i < length; i++, x += 4) sum += load<f32>(x);
  return sum;
}

/** Sums of eight columns. */
// @ts-ignore: decorator
@inline
function columns(at: usize, out: usize, rows: i32, pitch: usize, scale: f32): void {
  let s0 = f64x2.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  for (let r = 0; r < rows; r++, at += pitch) {
    const left = v128.load(at);
    const right = v128.load(at, 16);
    s0 = f64x2.add(s0, f64x2.promote_low_f32x4(left));
    s1 = f64x2.add(s1, f64x2.promote_low_f32x4(i64x2.shuffle(left, left, 1, 1)));
    s2 = f64x2.add(s2, f64x2.promote_low_f32x4(right));
    s3 = f64x2.add(s3, f64x2.promote_low_f32x4(i64x2.shuffle(right, right, 1, 1)));
  }
  const factor = f64x2.splat(scale);
  v128.store(out, narrow(f64x2.mul(s0, factor), f64x2.mul(s1, factor)));
  v128.store(out, narrow(f64x2.mul(s2, factor), f64x2.mul(s3, factor)), 16);
}

// @ts-ignore: decorator
@inline
function narrow(low: v128, high: v128): v128 {
  return i64x2.shuffle(f32x4.demote_f64x2_zero(low), f32x4.demote_f64x2_zero(high), 0, 2);
}

function column(at: usize, out: usize, rows: i32, pitch: usize, scale: f32): void {
  let sum: f64 = 0;
  for (let r = 0; r < rows; r++, at += pitch) sum += load<f32>(at);
  store<f32>(out, <f32>(sum * <f64>scale));
}
