/**
 * Converts a drawn digit to the model's 8x8 grid.
 *
 * The digits data set (Alpaydin and Kaynak 1998) holds bitmaps of 32x32 pixels, each digit scaled to the full height
 * and centred, then cut into blocks of 4x4 whose set pixels are counted: 64 values from 0 to 16.
 */

export interface StrokePoint {
  readonly x: number;
  readonly y: number;
}
export type Stroke = readonly StrokePoint[];

const SIDE = 32;
const BLOCK = 4;
const GRID = SIDE / BLOCK;
/** Half the width of a line in pixels of the bitmap; the amount of ink is about that of the data set. */
const RADIUS = 2.1;
/** The width from which a digit's width, not its height, decides the scale. */
const WIDEST = 26;

/** Returns 64 values from 0 to 16, row by row; all zeros for no strokes. */
export function gridOf(strokes: readonly Stroke[]): Float32Array<ArrayBuffer> {
  const fitted = toBitmap(strokes);
  const grid = new Float32Array(GRID * GRID);
  for (let y = 0; y < SIDE; y += 1) {
    for (let x = 0; x < SIDE; x += 1) {
      const pixel = { x: x + 0.5, y: y + 0.5 };
      if (!fitted.some((stroke) => touches(stroke, pixel))) continue;
      const cell = Math.floor(y / BLOCK) * GRID + Math.floor(x / BLOCK);
      grid[cell] = (grid[cell] ?? 0) + 1;
    }
  }
  return grid;
}

/** Scales the strokes to the full height (or the widest width) of the bitmap and centres them. */
function toBitmap(strokes: readonly Stroke[]): readonly Stroke[] {
  const points = strokes.flat();
  if (points.length === 0) return [];
  const [left, right] = [Math.min(...points.map(({ x }) => x)), Math.max(...points.map(({ x }) => x))];
  const [top, bottom] = [Math.min(...points.map(({ y }) => y)), Math.max(...points.map(({ y }) => y))];
  const room = SIDE - 2 * RADIUS;
  // A single dot has no size: it stays a dot.
  const scale = Math.min(room / (bottom - top || 1), (WIDEST - 2 * RADIUS) / (right - left || 1));
  return strokes.map((stroke) =>
    stroke.map(({ x, y }) => ({
      x: SIDE / 2 + (x - (left + right) / 2) * scale,
      y: SIDE / 2 + (y - (top + bottom) / 2) * scale,
    })),
  );
}

function touches(stroke: Stroke, pixel: StrokePoint): boolean {
  return stroke.some((end, index) => distance(stroke[index - 1] ?? end, end, pixel) <= RADIUS);
}

/** Returns the distance of a pixel from the line from `start` to `end`. */
function distance(start: StrokePoint, end: StrokePoint, pixel: StrokePoint): number {
  const [dx, dy] = [end.x - start.x, end.y - start.y];
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : ((pixel.x - start.x) * dx + (pixel.y - start.y) * dy) / length;
  const t = Math.min(1, Math.max(0, along));
  return Math.hypot(pixel.x - start.x - t * dx, pixel.y - start.y - t * dy);
}
