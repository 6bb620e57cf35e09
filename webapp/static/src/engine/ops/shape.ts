/** Ops that move elements without computing. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import { backend_util, reshape, slice, type Tensor, tensor1d, transpose } from "@tensorflow/tfjs-core";
import { constant } from "../constant-inputs";
import { foldMirrored, mirrorAxes, padAxes, repeat, reverseAxes } from "./axes";
import { type Family, input } from "./types";

/** Returns rows of two: elements before and after each axis. */
function borders(node: GraphNode): [number, number][] {
  const flat = constant(node.inputs[1]);
  return input(node, 0).shape.map((_, axis) => [flat[2 * axis] ?? 0, flat[2 * axis + 1] ?? 0]);
}

/**
 * Permutes the axes of x. Axes that stay neighbours are merged, those of one element are removed: the WebGL backend
 * of TF.js 4.22 transposes up to six dimensions only.
 */
function transposed(node: GraphNode): Tensor {
  const x = input(node, 0);
  const order = constant(node.inputs[1]);
  const result = order.map((axis) => x.shape[axis] as number);
  const runs: number[][] = [];
  for (const axis of order.filter((axis) => x.shape[axis] !== 1)) {
    const run = runs.at(-1);
    const between = run === undefined ? [] : x.shape.slice((run.at(-1) as number) + 1, axis);
    if (run !== undefined && axis > (run.at(-1) as number) && between.every((length) => length === 1))
      run.push(axis);
    else runs.push([axis]);
  }
  const placed = [...runs].sort((a, b) => (a[0] as number) - (b[0] as number));
  const sizes = placed.map((run) => run.reduce((size, axis) => size * (x.shape[axis] as number), 1));
  const moved = transpose(
    reshape(x, sizes),
    runs.map((run) => placed.indexOf(run)),
  );
  return reshape(moved, result);
}

/**
 * Moves blocks of the batch back into space, then crops, as TF.js itself composes it. Its WASM kernel in 4.22 reads
 * the tensor back.
 */
function batchToSpace(node: GraphNode): Tensor {
  const x = input(node, 0);
  const block = constant(node.inputs[1]);
  const flat = constant(node.inputs[2]);
  const crops = block.map((_, axis) => [flat[2 * axis] ?? 0, flat[2 * axis + 1] ?? 0]);
  const count = block.reduce((product, length) => product * length, 1);
  const blocks = reshape(x, backend_util.getReshaped(x.shape, block, count));
  const spread = transpose(blocks, backend_util.getPermuted(blocks.rank, block.length));
  const whole = reshape(spread, backend_util.getReshapedPermuted(x.shape, block, count));
  const begin = backend_util.getSliceBeginCoords(crops, block.length);
  return slice(whole, begin, backend_util.getSliceSize(whole.shape, crops, block.length));
}

const modeOf = (node: GraphNode) => node.attrs.mode as "reflect" | "symmetric";

function reversed(node: GraphNode): Tensor {
  const x = input(node, 0);
  return reverseAxes(
    x,
    constant(node.inputs[1]).map((axis) => (axis < 0 ? axis + x.rank : axis)),
  );
}

export const shape: Family = {
  BatchToSpaceND: batchToSpace,
  InvertPermutation: (node) => {
    const permutation = constant(node.inputs[0]);
    return tensor1d(
      permutation.map((_, i) => permutation.indexOf(i)),
      "int32",
    );
  },
  MirrorPad: (node) => mirrorAxes(input(node, 0), borders(node), modeOf(node)),
  MirrorPadGrad: (node) => foldMirrored(input(node, 0), borders(node), modeOf(node)),
  Pad: (node) => padAxes(input(node, 0), borders(node)),
  PadV2: (node) => padAxes(input(node, 0), borders(node), constant(node.inputs[2])[0]),
  ReverseV2: reversed,
  Tile: (node) => repeat(input(node, 0), constant(node.inputs[1])),
  Transpose: transposed,
};
