/**
 * Slices for the WASM backend. Those of TF.js 4.22 copy the whole source out of WASM's memory for each slice, which
 * makes cutting the flat vector into a model's variables quadratic.
 */

import { Reshape, slice_util, type TensorInfo, util } from "@tensorflow/tfjs-core";
import { inputOf, type KernelCall, runInner, type WasmBackend } from "./heap";

type Heap = ReturnType<WasmBackend["typedArrayFromHeap"]>;

/** Below this many elements a loop is faster than the set-up of a bulk copy. */
const BULK = 24;

function copyRow(source: Heap, from: number, target: Heap, to: number, length: number): void {
  if (length >= BULK) {
    target.set(source.subarray(from, from + length), to);
    return;
  }
  for (let i = 0; i < length; i++) target[to + i] = source[from + i] as number;
}

/** Copies the block [begin, begin + size) of `source`, whose shape is `shape`, to the start of `target`. */
function copyBlock(source: Heap, shape: number[], begin: number[], size: number[], target: Heap): void {
  let axis = shape.length - 1;
  // Whole inner axes lie together in memory: they are copied as one row.
  let inner = 1;
  while (axis > 0 && size[axis] === shape[axis]) inner *= shape[axis--] as number;
  const row = inner * (size[axis] ?? 1);
  const rows = size.slice(0, Math.max(axis, 0)).reduce((product, length) => product * length, 1);
  const strides = [...util.computeStrides(shape), 1];
  const start = begin.reduce((sum, first, i) => sum + first * (strides[i] ?? 1), 0);
  const index = new Array<number>(Math.max(axis, 0)).fill(0);
  let from = start;
  for (let i = 0; i < rows; i++) {
    copyRow(source, from, target, i * row, row);
    for (let d = index.length - 1; d >= 0; d--) {
      from += strides[d] as number;
      index[d] = (index[d] as number) + 1;
      if ((index[d] as number) < (size[d] as number)) break;
      from -= (index[d] as number) * (strides[d] as number);
      index[d] = 0;
    }
  }
}

function block(backend: WasmBackend, x: TensorInfo, begin: number[], size: number[]): TensorInfo {
  const result = backend.makeOutput(size, x.dtype);
  if (util.sizeFromShape(size) === 0) return result;
  copyBlock(backend.typedArrayFromHeap(x), x.shape, begin, size, backend.typedArrayFromHeap(result));
  return result;
}

export function slice(call: KernelCall): TensorInfo {
  const x = inputOf(call, "x");
  const { begin, size } = call.attrs as { begin: number[]; size: number[] };
  const [first, length] = slice_util.parseSliceParams(
    x as Parameters<typeof slice_util.parseSliceParams>[0],
    begin,
    size,
  );
  return block(call.backend, x, first as number[], length as number[]);
}

/** Consecutive blocks of `sizes` along one axis. */
function cut(backend: WasmBackend, x: TensorInfo, axis: number, sizes: readonly number[]): TensorInfo[] {
  const begin = x.shape.map(() => 0);
  return sizes.map((length) => {
    const part = block(
      backend,
      x,
      begin,
      x.shape.map((whole, i) => (i === axis ? length : whole)),
    );
    begin[axis] = (begin[axis] as number) + length;
    return part;
  });
}

export function splitV(call: KernelCall): TensorInfo[] {
  const x = inputOf(call, "x");
  const { numOrSizeSplits, axis } = call.attrs as { numOrSizeSplits: number | number[]; axis: number };
  const [along = 0] = util.parseAxisParam(axis, x.shape);
  const whole = x.shape[along] as number;
  const count = numOrSizeSplits;
  if (typeof count === "number") return cut(call.backend, x, along, new Array(count).fill(whole / count));
  const total = count.reduce((sum, length) => sum + Math.max(length, 0), 0);
  return cut(
    call.backend,
    x,
    along,
    count.map((length) => (length < 0 ? whole - total : length)),
  );
}

export function unpack(call: KernelCall): TensorInfo[] {
  const x = inputOf(call, "value");
  const axis = Number(call.attrs.axis) + (Number(call.attrs.axis) < 0 ? x.shape.length : 0);
  const parts = cut(call.backend, x, axis, new Array(x.shape[axis] as number).fill(1));
  return parts.map((part) => ({ ...part, shape: part.shape.filter((_, i) => i !== axis) }));
}

/** Every `strides`-th element from `begin` on, `size` of them along each axis. */
function pick(
  source: Heap,
  shape: number[],
  begin: number[],
  strides: number[],
  size: number[],
  target: Heap,
): void {
  const steps = [...util.computeStrides(shape), 1];
  const index = size.map(() => 0);
  let from = begin.reduce((sum, first, i) => sum + first * (steps[i] ?? 1), 0);
  for (let to = 0; to < target.length; to++) {
    target[to] = source[from] as number;
    for (let d = size.length - 1; d >= 0; d--) {
      const step = (steps[d] as number) * (strides[d] as number);
      index[d] = (index[d] as number) + 1;
      from += step;
      if ((index[d] as number) < (size[d] as number)) break;
      from -= (index[d] as number) * step;
      index[d] = 0;
    }
  }
}

/** The backend's own kernel gives integers out as float32. */
export function stridedSlice(call: KernelCall): TensorInfo {
  const { backend, attrs } = call;
  const x = inputOf(call, "x");
  const { begin = [], end = [], strides = [] } = attrs as Record<string, number[] | undefined>;
  const masks = attrs as Record<string, number | undefined>;
  const info = slice_util.sliceInfo(
    x.shape,
    begin,
    end,
    strides,
    masks.beginMask ?? 0,
    masks.endMask ?? 0,
    masks.ellipsisMask ?? 0,
    masks.newAxisMask ?? 0,
    masks.shrinkAxisMask ?? 0,
  );
  const shape = info.finalShape;
  if (info.isIdentity) return runInner(Reshape, backend, { x }, { shape });
  if (info.sliceDim0 || info.isSimpleSlice) {
    const size = slice_util.computeOutShape(info.begin, info.end, info.strides);
    return { ...block(backend, x, info.begin, size), shape };
  }
  const result = backend.makeOutput(shape, x.dtype);
  const [source, target] = [backend.typedArrayFromHeap(x), backend.typedArrayFromHeap(result)];
  pick(source, x.shape, info.begin, info.strides, info.finalShapeSparse, target);
  return result;
}
