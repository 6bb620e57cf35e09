/** Strided slices and their gradient. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import { reshape, type Tensor } from "@tensorflow/tfjs-core";
import { constant } from "../constant-inputs";
import { type AxisStride, interleaveZeros, padAxes, reverseAxes, strideAxes } from "./axes";
import { type Family, input } from "./types";

function sliceAxis(size: number, begin: number | null, end: number | null, step: number): AxisStride {
  const low = step > 0 ? 0 : -1;
  const high = step > 0 ? size : size - 1;
  const clamp = (index: number) => Math.min(Math.max(index < 0 ? index + size : index, low), high);
  const start = begin === null ? (step > 0 ? low : high) : clamp(begin);
  const stop = end === null ? (step > 0 ? high : low) : clamp(end);
  return { size, start, step, count: Math.max(Math.ceil((stop - start) / step), 0) };
}

const bit = (mask: unknown, i: number): boolean => ((Number(mask ?? 0) >> i) & 1) === 1;

/** Returns the axes of a strided slice by numpy's rules, as the op's masks encode them. */
function sliceAxes(node: GraphNode, shape: readonly number[]): AxisStride[] {
  const [begin, end, strides] = [
    constant(node.inputs[1]),
    constant(node.inputs[2]),
    constant(node.inputs[3]),
  ];
  const { begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask } = node.attrs;
  const named = begin.filter((_, i) => !bit(new_axis_mask, i) && !bit(ellipsis_mask, i)).length;
  const axes: AxisStride[] = [];
  begin.forEach((first, i) => {
    if (bit(new_axis_mask, i)) return;
    const size = shape[axes.length] ?? 1;
    if (bit(ellipsis_mask, i)) {
      for (let skip = shape.length - named; skip > 0; skip--) {
        axes.push(sliceAxis(shape[axes.length] ?? 1, null, null, 1));
      }
    } else if (bit(shrink_axis_mask, i)) {
      axes.push({ size, start: first < 0 ? first + size : first, step: 1, count: 1 });
    } else {
      const stop = end[i] ?? size;
      axes.push(
        sliceAxis(size, bit(begin_mask, i) ? null : first, bit(end_mask, i) ? null : stop, strides[i] ?? 1),
      );
    }
  });
  while (axes.length < shape.length) axes.push(sliceAxis(shape[axes.length] ?? 1, null, null, 1));
  return axes;
}

/**
 * Returns the shape of the slice: new axes have one element, shrunk ones are removed. TF.js 4.22 miscounts the axes
 * if some are shrunk and others have strides, so it gets plain begins and strides only.
 */
function sliceShape(node: GraphNode, axes: readonly AxisStride[]): number[] {
  const { ellipsis_mask, new_axis_mask, shrink_axis_mask } = node.attrs;
  const specified = constant(node.inputs[1]).map((_, i) => i);
  const named = specified.filter((i) => !bit(new_axis_mask, i) && !bit(ellipsis_mask, i)).length;
  const shape: number[] = [];
  let axis = 0;
  for (const i of specified) {
    if (bit(new_axis_mask, i)) shape.push(1);
    else if (bit(ellipsis_mask, i)) {
      for (let skip = axes.length - named; skip > 0; skip--) shape.push(axes[axis++]?.count ?? 1);
    } else {
      const { count } = axes[axis++] as AxisStride;
      if (!bit(shrink_axis_mask, i)) shape.push(count);
    }
  }
  return [...shape, ...axes.slice(axis).map(({ count }) => count)];
}

function stridedSlice(node: GraphNode): Tensor {
  const x = input(node, 0);
  const axes = sliceAxes(node, x.shape);
  return reshape(strideAxes(x, axes), sliceShape(node, axes));
}

/** Returns the gradient: dy where the slice was taken, zeros elsewhere. */
function stridedSliceGrad(node: GraphNode): Tensor {
  const shape = constant(node.inputs[0]);
  const axes = sliceAxes(node, shape);
  let dx = reshape(
    input(node, 4),
    axes.map((axis) => axis.count),
  );
  const backward = axes.flatMap((axis, i) => (axis.step < 0 ? [i] : []));
  if (backward.length > 0) dx = reverseAxes(dx, backward);
  axes.forEach((axis, i) => {
    dx = interleaveZeros(dx, i, Math.abs(axis.step) - 1);
  });
  const widths = axes.map((axis, i): [number, number] => {
    const length = dx.shape[i] as number;
    const before = axis.step > 0 ? axis.start : axis.start - (length - 1);
    return [before, axis.size - before - length];
  });
  return padAxes(dx, widths);
}

export const slicing: Family = {
  StridedSlice: stridedSlice,
  StridedSliceGrad: stridedSliceGrad,
};
