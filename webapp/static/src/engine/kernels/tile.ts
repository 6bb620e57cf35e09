/**
 * The innermost loop of every product: a tile of sums that stays in registers while they accumulate. It is as large
 * as registers allow: six rows if one instruction multiplies and adds, four if the product needs a register, too.
 * Addresses and steps count bytes, lengths and counts elements.
 */

/** Rows of a full tile. */
export const ROWS: i32 = ASC_FEATURE_RELAXED_SIMD ? 6 : 4;
/** Columns of a tile, and of a panel: the right operand packed so that a tile reads it in order. */
export const COLUMNS: i32 = 8;
export const PANEL_ROW: usize = 32;
/** Scratch of a tile: 24 bytes say where its rows begin, then there is room for its sums. */
export const SPARE: usize = 32 + 192;

/** The initial value of a tile: zero, the current result, or a panel's row of biases. */
export const FROM_ZERO: i32 = 0;
export const FROM_RESULT: i32 = 1;
export const FROM_BIAS: i32 = 2;

// @ts-ignore: decorator
@inline
function grown(sum: v128, a: v128, b: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return f32x4.relaxed_madd(a, b, sum);
  return f32x4.add(sum, f32x4.mul(a, b));
}

// @ts-ignore: decorator
@inline
function finish(out: usize, left: v128, right: v128, floor: v128): void {
  // pmax keeps NaN, so that a training that diverged shows it.
  v128.store(out, f32x4.pmax(left, floor));
  v128.store(out, f32x4.pmax(right, floor), 16);
}

/**
 * out[r, 0..8] = start + sum over `lines` x `length` steps of a_r * panel. Row r of the left operand begins at a_r,
 * steps by `step` within a line and by `line` to the next line. Results below `floor` become `floor`.
 * `rows` is a constant of each call: what it excludes is not compiled.
 */
// @ts-ignore: decorator
@inline
function grow(
  rows: i32,
  a0: usize,
  a1: usize,
  a2: usize,
  a3: usize,
  a4: usize,
  a5: usize,
  step: usize,
  line: usize,
  lines: i32,
  length: i32,
  panel: usize,
  out: usize,
  stride: usize,
  start: i32,
  bias: usize,
  floor: f32,
): void {
  let s00 = f32x4.splat(0);
  let s01 = s00;
  if (start == FROM_BIAS) {
    s00 = v128.load(bias);
    s01 = v128.load(bias, 16);
  }
  let s10 = s00;
  let s11 = s01;
  let s20 = s00;
  let s21 = s01;
  let s30 = s00;
  let s31 = s01;
  let s40 = s00;
  let s41 = s01;
  let s50 = s00;
  let s51 = s01;
  if (start == FROM_RESULT) {
    s00 = v128.load(out);
    s01 = v128.load(out, 16);
    if (rows > 1) {
      s10 = v128.load(out + stride);
      s11 = v128.load(out + stride, 16);
    }
    if (rows > 2) {
      s20 = v128.load(out + 2 * stride);
      s21 = v128.load(out + 2 * stride, 16);
    }
    if (rows > 3) {
      s30 = v128.load(out + 3 * stride);
      s31 = v128.load(out + 3 * stride, 16);
    }
    if (rows > 4) {
      s40 = v128.load(out + 4 * stride);
      s41 = v128.load(out + 4 * stride, 16);
    }
    if (rows > 5) {
      s50 = v128.load(out + 5 * stride);
      s51 = v128.load(out + 5 * stride, 16);
    }
  }
  let from: usize = 0;
  for (let y = 0; y < lines; y++) {
    let offset = from;
    for (let x = 0; x < length; x++) {
      const b0 = v128.load(panel);
      const b1 = v128.load(panel, 16);
      panel += PANEL_ROW;
      const v0 = v128.load_splat<f32>(a0 + offset);
      s00 = grown(s00, v0, b0);
      s01 = grown(s01, v0, b1);
      if (rows > 1) {
        const v1 = v128.load_splat<f32>(a1 + offset);
        s10 = grown(s10, v1, b0);
        s11 = grown(s11, v1, b1);
      }
      if (rows > 2) {
        const v2 = v128.load_splat<f32>(a2 + offset);
        s20 = grown(s20, v2, b0);
        s21 = grown(s21, v2, b1);
      }
      if (rows > 3) {
        const v3 = v128.load_splat<f32>(a3 + offset);
        s30 = grown(s30, v3, b0);
        s31 = grown(s31, v3, b1);
      }
      if (rows > 4) {
        const v4 = v128.load_splat<f32>(a4 + offset);
        s40 = grown(s40, v4, b0);
        s41 = grown(s41, v4, b1);
      }
      if (rows > 5) {
        const v5 = v128.load_splat<f32>(a5 + offset);
        s50 = grown(s50, v5, b0);
        s51 = grown(s51, v5, b1);
      }
      offset += step;
    }
    from += line;
  }
  const least = f32x4.splat(floor);
  finish(out, s00, s01, least);
  if (rows > 1) finish(out + stride, s10, s11, least);
  if (rows > 2) finish(out + 2 * stride, s20, s21, least);
  if (rows > 3) finish(out + 3 * stride, s30, s31, least);
  if (rows > 4) finish(out + 4 * stride, s40, s41, least);
  if (rows > 5) finish(out + 5 * stride, s50, s51, least);
}

/**
 * `grow` for a number of `rows` known only at run time, and a result of any width up to 8. `spare` holds the
 * addresses where rows of the left operand begin.
 */
export function tile(
  rows: i32,
  spare: usize,
  step: usize,
  line: usize,
  lines: i32,
  length: i32,
  panel: usize,
  out: usize,
  stride: usize,
  width: i32,
  start: i32,
  bias: usize,
  floor: f32,
): void {
  const a0 = load<usize>(spare);
  const a1 = load<usize>(spare, 4);
  const a2 = load<usize>(spare, 8);
  const a3 = load<usize>(spare, 12);
  const a4 = load<usize>(spare, 16);
  const a5 = load<usize>(spare, 20);
  const sums = spare + 32;
  let target = out;
  let pitch = stride;
  if (width < COLUMNS) {
    target = sums;
    pitch = PANEL_ROW;
    if (start == FROM_RESULT) copyRows(out, stride, sums, PANEL_ROW, rows, width);
  }
  if (ROWS > 4) {
    if (rows == 6) {
      grow(6, a0, a1, a2, a3, a4, a5, step, line, lines, length, panel, target, pitch, start, bias, floor);
    } else if (rows == 5) {
      grow(5, a0, a1, a2, a3, a4, a5, step, line, lines, length, panel, target, pitch, start, bias, floor);
    }
  }
  if (rows == 4) {
    grow(4, a0, a1, a2, a3, a4, a5, step, line, lines, length, panel, target, pitch, start, bias, floor);
  } else if (rows == 3) {
    grow(3, a0, a1, a2, a3, a4, a5, step, line, lines, length, panel, target, pitch, start, bias, floor);
  } else if (rows == 2) {
    grow(2, a0, a1, a2, a3, a4, a5, step, line, lines, length, panel, target, pitch, start, bias, floor);
  } else if (rows == 1) {
    grow(1, a0, a1, a2, a3, a4, a5, step, line, lines, length, panel, target, pitch, start, bias, floor);
  }
  if (width < COLUMNS) copyRows(sums, PANEL_ROW, out, stride, rows, width);
}

function copyRows(from: usize, fromStride: usize, to: usize, toStride: usize, rows: i32, width: i32): void {
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < width; c++) store<f32>(to + <usize>(c << 2), load<f32>(from + <usize>(c << 2)));
    from += fromStride;
    to += toStride;
  }
}

/**
 * Packs a panel: row k holds b[k, 0..width] and zeros up to 8. Rows of b are `row` bytes apart, columns `column`.
 */
export function pack(b: usize, row: usize, column: usize, depth: i32, width: i32, panel: usize): void {
  if (width == COLUMNS && column == 4) {
    for (let k = 0; k < depth; k++) {
      v128.store(panel, v128.load(b));
      v128.store(panel, v128.load(b, 16), 16);
      b += row;
      panel += PANEL_ROW;
    }
    return;
  }
  if (width == COLUMNS && row == 4) {
    const whole = depth & ~3;
    for (let k = 0; k < whole; k += 4) {
      transpose4(b, column, panel, PANEL_ROW);
      transpose4(b + 4 * column, column, panel + 16, PANEL_ROW);
      b += 16;
      panel += 4 * PANEL_ROW;
    }
    depth -= whole;
  }
  for (let k = 0; k < depth; k++) {
    for (let c = 0; c < COLUMNS; c++) {
      store<f32>(panel + <usize>(c << 2), c < width ? load<f32>(b + <usize>c * column) : 0);
    }
    b += row;
    panel += PANEL_ROW;
  }
}

/** Transposes 4 x 4 elements: lines of the source are `pitch` bytes apart, those of the result `outPitch`. */
// @ts-ignore: decorator
@inline
export function transpose4(from: usize, pitch: usize, out: usize, outPitch: usize): void {
  const a = v128.load(from);
  const b = v128.load(from + pitch);
  const c = v128.load(from + 2 * pitch);
  const d = v128.load(from + 3 * pitch);
  const lowAB = i32x4.shuffle(a, b, 0, 4, 1, 5);
  const lowCD = i32x4.shuffle(c, d, 0, 4, 1, 5);
  const highAB = i32x4.shuffle(a, b, 2, 6, 3, 7);
  const highCD = i32x4.shuffle(c, d, 2, 6, 3, 7);
  v128.store(out, i64x2.shuffle(lowAB, lowCD, 0, 2));
  v128.store(out + outPitch, i64x2.shuffle(lowAB, lowCD, 1, 3));
  v128.store(out + 2 * outPitch, i64x2.shuffle(highAB, highCD, 0, 2));
  v128.store(out + 3 * outPitch, i64x2.shuffle(highAB, highCD, 1, 3));
}
