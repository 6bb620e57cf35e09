/** Products of matrices. */

import { COLUMNS, FROM_BIAS, FROM_RESULT, FROM_ZERO, pack, PANEL_ROW, ROWS, SPARE, tile } from "./tile";

/** Depth of a packed panel: 8 KiB, so that it stays in the first-level cache. */
const DEPTH: i32 = 256;

/** Bytes of scratch that `multiply` needs: what a tile needs, a row of biases and a panel. */
export const PRODUCT_SCRATCH: usize = SPARE + PANEL_ROW + <usize>DEPTH * PANEL_ROW;

/**
 * Rows [begin, end) of all of c [batch, m, n] = max(a b + bias, floor): `batchA` and `batchB` bytes lie between the
 * matrices of a and b, 0 where one serves all. The rest is as in `multiply`.
 */
export function multiplyBatch(
  a: usize,
  rowA: usize,
  stepA: usize,
  batchA: usize,
  b: usize,
  rowB: usize,
  columnB: usize,
  batchB: usize,
  c: usize,
  m: i32,
  n: i32,
  depth: i32,
  bias: usize,
  floor: f32,
  scratch: usize,
  begin: i32,
  end: i32,
): void {
  for (let row = begin; row < end; ) {
    const matrix = row / m;
    const first = row - matrix * m;
    const last = min(m, end - matrix * m);
    const left = a + <usize>matrix * batchA;
    const right = b + <usize>matrix * batchB;
    const out = c + (<usize>(matrix * m * n) << 2);
    multiply(left, rowA, stepA, right, rowB, columnB, out, n, depth, bias, floor, scratch, first, last);
    row += last - first;
  }
}

/**
 * Rows [begin, end) of c [m, n] = max(a b + bias, floor). Element (i, k) of a lies at a + i * rowA + k * stepA, (k, j)
 * of b at b + k * rowB + j * columnB. `bias` [n] may be 0: none.
 */
function multiply(
  a: usize,
  rowA: usize,
  stepA: usize,
  b: usize,
  rowB: usize,
  columnB: usize,
  c: usize,
  n: i32,
  depth: i32,
  bias: usize,
  floor: f32,
  scratch: usize,
  begin: i32,
  end: i32,
): void {
  const biases = scratch + SPARE;
  const panel = biases + PANEL_ROW;
  const stride = <usize>n << 2;
  for (let k = 0; k < depth || k == 0; k += DEPTH) {
    const part = min(DEPTH, depth - k);
    const last = k + part >= depth;
    const start = k > 0 ? FROM_RESULT : bias != 0 ? FROM_BIAS : FROM_ZERO;
    const least = last ? floor : <f32>-Infinity;
    for (let j = 0; j < n; j += COLUMNS) {
      const width = min(COLUMNS, n - j);
      const column = <usize>j << 2;
      if (start == FROM_BIAS) pack(bias + column, 0, 4, 1, width, biases);
      pack(b + <usize>k * rowB + <usize>j * columnB, rowB, columnB, part, width, panel);
      let row = a + <usize>begin * rowA + <usize>k * stepA;
      let out = c + <usize>begin * stride + column;
      for (let i = begin; i < end; i += ROWS) {
        const rows = min(ROWS, end - i);
        for (let r = 0; r < rows; r++) store<usize>(scratch + (<usize>r << 2), row + <usize>r * rowA);
        tile(rows, scratch, stepA, 0, 1, part, panel, out, stride, width, start, biases, least);
        row += <usize>ROWS * rowA;
        out += <usize>ROWS * stride;
      }
    }
  }
}
