/** Reductions over axes, and the gradient of slicing. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import { pad, prod, reshape, reverse, slice, sum, type Tensor, tensor1d } from "@tensorflow/tfjs-core";
import { constant } from "../constants";
import { hasKernel, runKernel } from "./attributes";
import { type Family, input, requireChannelsLast } from "./family";

/** One axis of a strided slice: `start`, `step`, and how many elements it takes of `size`. */
interface Axis {
  readonly size: number;
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

function sliceAxis(size: number, begin: number | null, end: number | null, step: number): Axis {
  const low = step > 0 ? 0 : -1;
  const high = step > 0 ? size : size - 1;
  const clamp = (index: number) => Math.min(Math.max(index < 0 ? index + size : index, low), high);
  const start = begin === null ? (step > 0 ? low : high) : clamp(begin);
  const stop = end === null ? (step > 0 ? high : low) : clamp(end);
  return { size, start, step, count: Math.max(Math.ceil((stop - start) / step), 0) };
}

const bit = (mask: unknown, i: number): boolean => ((Number(mask ?? 0) >> i) & 1) === 1;

/** The axes of a strided slice by numpy's rules, as the op's masks write them down. */
function sliceAxes(node: GraphNode, shape: readonly number[]): Axis[] {
  const [begin, end, strides] = [
    constant(node.inputs[1]),
    constant(node.inputs[2]),
    constant(node.inputs[3]),
  ];
  const { begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask } = node.attrs;
  const named = begin.filter((_, i) => !bit(new_axis_mask, i) && !bit(ellipsis_mask, i)).length;
  const axes: Axis[] = [];
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

/** A copy with one element changed. */
function replaced(values: readonly number[], index: number, value: number): number[] {
  return values.map((old, i) => (i === index ? value : old));
}

/** Puts `gap` zeros after each element along `axis`, the last one excepted. */
function interleaveZeros(x: Tensor, axis: number, gap: number): Tensor {
  if (gap === 0) return x;
  const shape = [...x.shape];
  const count = shape[axis] as number;
  const column = reshape(x, [...shape.slice(0, axis), count, 1, ...shape.slice(axis + 1)]);
  const widths = column.shape.map((_, i): [number, number] => (i === axis + 1 ? [0, gap] : [0, 0]));
  const spread = reshape(pad(column, widths), replaced(shape, axis, count * (gap + 1)));
  return slice(
    spread,
    shape.map(() => 0),
    replaced(shape, axis, (count - 1) * (gap + 1) + 1),
  );
}

/** dy goes back where the slice took it from, zeros elsewhere. */
function stridedSliceGrad(node: GraphNode): Tensor {
  const shape = constant(node.inputs[0]);
  const axes = sliceAxes(node, shape);
  let dx = reshape(
    input(node, 4),
    axes.map((axis) => axis.count),
  );
  const backward = axes.flatMap((axis, i) => (axis.step < 0 ? [i] : []));
  if (backward.length > 0) dx = reverse(dx, backward);
  axes.forEach((axis, i) => {
    dx = interleaveZeros(dx, i, Math.abs(axis.step) - 1);
  });
  const widths = axes.map((axis, i): [number, number] => {
    const length = dx.shape[i] as number;
    const before = axis.step > 0 ? axis.start : axis.start - (length - 1);
    return [before, axis.size - before - length];
  });
  return pad(dx, widths);
}

/** Product over axes. The WebGPU kernel of TF.js 4.22 forgets to keep reduced axes, so they are put back here. */
function product(node: GraphNode): Tensor {
  const x = input(node, 0);
  const axes = constant(node.inputs[1]).map((axis) => (axis < 0 ? axis + x.rank : axis));
  const result = prod(x, axes);
  if (node.attrs.keep_dims !== true) return result;
  return reshape(
    result,
    x.shape.map((length, axis) => (axes.includes(axis) ? 1 : length)),
  );
}

export const shape: Family = {
  Prod: product,
  BiasAddGrad: (node) => {
    requireChannelsLast(node);
    const dy = input(node, 0);
    if (hasKernel("BiasAddGrad")) return runKernel("BiasAddGrad", { dy }, {});
    return sum(
      dy,
      dy.shape.slice(0, -1).map((_, axis) => axis),
    );
  },
  StridedSliceGrad: stridedSliceGrad,
  InvertPermutation: (node) => {
    const permutation = constant(node.inputs[0]);
    return tensor1d(
      permutation.map((_, i) => permutation.indexOf(i)),
      "int32",
    );
  },
};
