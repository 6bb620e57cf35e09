/** Ops that move elements and compute nothing. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import { type Tensor, tensor1d } from "@tensorflow/tfjs-core";
import { constant } from "../constants";
import { foldMirrored, mirrorAxes, padAxes, reverseAxes } from "./axes";
import { type Family, input } from "./family";

/** Rows of two: elements before and after each axis. */
function borders(node: GraphNode): [number, number][] {
  const flat = constant(node.inputs[1]);
  return input(node, 0).shape.map((_, axis) => [flat[2 * axis] ?? 0, flat[2 * axis + 1] ?? 0]);
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
};
