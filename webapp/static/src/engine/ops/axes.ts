/**
 * Ops along single axes, composed of ops on tensors of three dimensions so that every rank works on every backend.
 */

import {
  add,
  mirrorPad,
  pad,
  reshape,
  reverse,
  slice,
  stridedSlice,
  type Tensor,
  type Tensor3D,
  tile,
} from "@tensorflow/tfjs-core";

/** The GPU backends of TF.js 4.22 pad, reverse and stride up to four dimensions only (WebGPU without saying so). */
export const SAFE_RANK = 4;

/** Copies values with one element changed. */
function replaced(values: readonly number[], index: number, value: number): number[] {
  return values.map((old, i) => (i === index ? value : old));
}

/** Applies `along` to x viewed as [outer, size of the axis, inner]; the result may have another size there. */
export function alongAxis(x: Tensor, axis: number, along: (rows: Tensor3D) => Tensor): Tensor {
  const size = x.shape[axis] as number;
  const inner = x.shape.slice(axis + 1).reduce((product, length) => product * length, 1);
  const result = along(reshape(x, [x.size / (size * inner || 1), size, inner]));
  return reshape(result, replaced(x.shape, axis, result.shape[1] as number));
}

type Widths = readonly (readonly [number, number])[];

/** Pads x with `value`. */
export function padAxes(x: Tensor, widths: Widths, value = 0): Tensor {
  const asked = widths.map(([before, after]): [number, number] => [before, after]);
  if (x.rank <= SAFE_RANK) return pad(x, asked, value);
  return asked.reduce((padded, width, axis) => {
    if (width[0] === 0 && width[1] === 0) return padded;
    return alongAxis(padded, axis, (rows) => pad(rows, [[0, 0], width, [0, 0]], value));
  }, x);
}

/** Pads x with its own mirrored border. */
export function mirrorAxes(x: Tensor, widths: Widths, mode: "reflect" | "symmetric"): Tensor {
  return widths.reduce((padded: Tensor, [before, after], axis) => {
    if (before === 0 && after === 0) return padded;
    return alongAxis(padded, axis, (rows) =>
      mirrorPad(
        rows,
        [
          [0, 0],
          [before, after],
          [0, 0],
        ],
        mode,
      ),
    );
  }, x);
}

/** Returns dx of `mirrorAxes` for dy of its result: the borders are added to the pixels that they mirror. */
export function foldMirrored(dy: Tensor, widths: Widths, mode: "reflect" | "symmetric"): Tensor {
  const edge = mode === "reflect" ? 1 : 0;
  return widths.reduce((folded: Tensor, [before, after], axis) => {
    if (before === 0 && after === 0) return folded;
    return alongAxis(folded, axis, (rows) => {
      const [outer, size, inner] = rows.shape;
      const length = size - before - after;
      const part = (from: number, count: number) => slice(rows, [0, from, 0], [outer, count, inner]);
      const placed = (border: Tensor3D, from: number, count: number) =>
        pad(reverse(border, 1), [
          [0, 0],
          [from, length - from - count],
          [0, 0],
        ]);
      let dx = part(before, length);
      if (before > 0) dx = add(dx, placed(part(0, before), edge, before));
      if (after > 0) dx = add(dx, placed(part(before + length, after), length - after - edge, after));
      return dx;
    });
  }, dy);
}

/** Reverses x along the given axes. */
export function reverseAxes(x: Tensor, axes: readonly number[]): Tensor {
  if (axes.length === 0) return x.clone();
  if (x.rank <= SAFE_RANK) return reverse(x, [...axes]);
  return axes.reduce((turned, axis) => alongAxis(turned, axis, (rows) => reverse(rows, 1)), x);
}

/** Takes every `step`-th element from `start` on, `count` of them, along each axis. */
export function strideAxes(x: Tensor, axes: readonly AxisStride[]): Tensor {
  if (axes.every(({ step }) => step === 1)) {
    return slice(
      x,
      axes.map(({ start }) => start),
      axes.map(({ count }) => count),
    );
  }
  // An end of -1 would count from the back, so one before the first element is written as far below it.
  const end = ({ start, step, count, size }: AxisStride) => {
    const stop = start + step * count;
    return stop < 0 ? stop - size : stop;
  };
  if (x.rank <= SAFE_RANK) {
    return stridedSlice(
      x,
      axes.map(({ start }) => start),
      axes.map(end),
      axes.map(({ step }) => step),
    );
  }
  return axes.reduce((part, axis, i) => {
    if (axis.step === 1 && axis.count === axis.size) return part;
    const { start, step, count } = axis;
    return alongAxis(part, i, (rows) => {
      const [outer, , inner] = rows.shape;
      if (step === 1) return slice(rows, [0, start, 0], [outer, count, inner]);
      return stridedSlice(rows, [0, start, 0], [outer, end(axis), inner], [1, step, 1]);
    });
  }, x);
}

/** The elements of an axis of `size` elements that a strided slice takes. */
export interface AxisStride {
  readonly size: number;
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

/** Puts `gap` zeros after each element along `axis`, the last one excepted. */
export function interleaveZeros(x: Tensor, axis: number, gap: number): Tensor {
  if (gap === 0) return x;
  return alongAxis(x, axis, (rows) => {
    const [outer, count, inner] = rows.shape;
    const widths: Widths = [
      [0, 0],
      [0, gap],
      [0, 0],
    ];
    const spread = padAxes(reshape(rows, [outer * count, 1, inner]), widths);
    const whole = reshape(spread, [outer, count * (gap + 1), inner]);
    return slice(whole, [0, 0, 0], [outer, (count - 1) * (gap + 1) + 1, inner]);
  });
}

/**
 * Repeats x along its axes, `times` for each. TF.js 4.22 reads tensors of five axes (WebGPU) or six (WebGL) back and
 * repeats them in JavaScript; they are repeated axis by axis, each as the second of two.
 */
export function repeat(x: Tensor, times: readonly number[]): Tensor {
  if (x.rank <= SAFE_RANK) return tile(x, [...times]);
  const shape = [...x.shape];
  let result = x;
  times.forEach((count, axis) => {
    if (count === 1) return;
    const inner = shape.slice(axis).reduce((size, length) => size * length, 1);
    const outer = shape.slice(0, axis).reduce((size, length) => size * length, 1);
    result = tile(reshape(result, [outer, inner]), [1, count]);
    shape[axis] = (shape[axis] as number) * count;
  });
  return reshape(result, shape);
}
