/** The part of the horizontal axis that a chart shows, and the point nearest to a place on it. Pure. */

/** The first and the last value shown. */
export type AxisRange = readonly [number, number];

/** A part narrower than this share of the whole is not shown: it would hold no two points. */
const NARROWEST = 1 / 1000;

/** Returns the index of the value nearest to `place` in `values`, which ascend; -1 if there are none. */
export function nearestIndex(values: readonly number[], place: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [values[low - 1], values[low]];
  if (before === undefined) return after === undefined ? -1 : low;
  return after === undefined || place - before <= after - place ? low - 1 : low;
}

/** Returns what a drag from `one` to `other` selects of `whole`; null if that is too little to be meant. */
export function selectRange(whole: AxisRange, one: number, other: number): AxisRange | null {
  const first = Math.max(whole[0], Math.min(one, other));
  const last = Math.min(whole[1], Math.max(one, other));
  return last - first > width(whole) * NARROWEST ? [first, last] : null;
}

/** Returns `range` made narrower (`factor` below 1) or wider around `centre`; null where it is the whole again. */
export function zoomRange(
  whole: AxisRange,
  range: AxisRange,
  factor: number,
  centre = (range[0] + range[1]) / 2,
): AxisRange | null {
  const wide = Math.max(width(range) * factor, width(whole) * NARROWEST);
  if (wide >= width(whole)) return null;
  const share = width(range) > 0 ? (centre - range[0]) / width(range) : 0.5;
  return within(whole, centre - share * wide, wide);
}

/** Returns `range` moved by a share of its width, within `whole`. */
export function moveRange(whole: AxisRange, range: AxisRange, share: number): AxisRange {
  return within(whole, range[0] + share * width(range), width(range));
}

/** Returns the indices of the first and last of `values` within `range`; all of them if it is null. */
export function shownIndices(values: readonly number[], range: AxisRange | null): readonly [number, number] {
  if (range === null) return [0, values.length - 1];
  const first = values.findIndex((value) => value >= range[0]);
  const after = values.findIndex((value) => value > range[1]);
  return [first, (after < 0 ? values.length : after) - 1];
}

function within(whole: AxisRange, first: number, wide: number): AxisRange {
  const begin = Math.min(Math.max(first, whole[0]), whole[1] - wide);
  return [begin, begin + wide];
}

function width([first, last]: AxisRange): number {
  return last - first;
}
