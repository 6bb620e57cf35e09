/** Ops that only few models need. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import {
  add,
  concat,
  div,
  equal,
  expandDims,
  fill,
  gather,
  greater,
  greaterEqual,
  less,
  log,
  logicalAnd,
  logicalOr,
  minimum,
  mul,
  range,
  reshape,
  scalar,
  scatterND,
  slice,
  square,
  sub,
  sum,
  type Tensor,
  tensor,
  transpose,
  zerosLike,
} from "@tensorflow/tfjs-core";
import { constant } from "../constant-inputs";
import { alongAxis } from "./axes";
import { broadcasting, select } from "./broadcast";
import { convert } from "./convert";
import { oneHotFloats } from "./loss";
import { type Family, input, type Op } from "./types";

/** Applies `run` where the first operand is not zero; elsewhere the result is zero, whatever the second one is. */
function zeroWins(run: (x: Tensor, y: Tensor) => Tensor): Op {
  const right = broadcasting(run);
  return (node) => {
    const [x, y] = [input(node, 0), input(node, 1)];
    return select(equal(x, 0), scalar(0), right(x, y));
  };
}

/** Returns which labels are among the k largest predictions; equal ones all count, as in TensorFlow. */
function inTopK(node: GraphNode): Tensor {
  const [predictions, targets] = [input(node, 0), input(node, 1)];
  const [k = 1] = constant(node.inputs[2]);
  const chosen = oneHotFloats(targets, predictions.shape[1] as number);
  const score = sum(mul(predictions, chosen), 1, true);
  return less(sum(convert(greater(predictions, score), "float32"), 1), k);
}

/**
 * Returns the k largest of each row and their places; of equal values the first one precedes. Each value's rank is
 * counted, since the sorting kernels of TF.js 4.22 put equal values in any order.
 */
function topK(node: GraphNode): Tensor[] {
  const x = input(node, 0);
  const [k = 1] = constant(node.inputs[1]);
  const length = x.shape[x.rank - 1] as number;
  const rows = reshape(x, [-1, length]);
  const [own, other] = [expandDims(rows, 2), expandDims(rows, 1)];
  const places = range(0, length);
  const earlier = less(reshape(places, [1, 1, length]), reshape(places, [1, length, 1]));
  const before = logicalOr(greater(other, own), logicalAnd(equal(other, own), earlier));
  const rank = sum(convert(before, "float32"), 2, true);
  const taken = convert(equal(rank, reshape(range(0, k), [1, 1, k])), "float32");
  const shape = [...x.shape.slice(0, -1), k];
  const indices = convert(sum(mul(taken, reshape(places, [1, length, 1])), 1), "int32");
  const values = gather(rows, indices, 1, 1);
  return [reshape(values, shape), reshape(indices, shape)];
}

/** Returns the interval between the sorted boundaries that contains each value. */
function bucketize(node: GraphNode): Tensor {
  const x = input(node, 0);
  const boundaries = (node.attrs.boundaries ?? []) as number[];
  const reached = greaterEqual(reshape(x, [x.size, 1]), tensor(boundaries, [1, boundaries.length]));
  return reshape(convert(sum(convert(reached, "float32"), 1), "int32"), x.shape);
}

/** Counts how often each number occurs, in each row; without weights. */
function denseBincount(node: GraphNode): Tensor {
  const [size = 0] = constant(node.inputs[1]);
  if (input(node, 2).size > 0) {
    throw new Error("The graph counts numbers with weights, which is not supported; multiply one-hot rows.");
  }
  const counts = sum(oneHotFloats(input(node, 0), size), -2);
  return node.attrs.binary_output === true ? minimum(counts, 1) : counts;
}

function rolled(x: Tensor, shift: number, axis: number): Tensor {
  const size = x.shape[axis] as number;
  const moved = ((shift % size) + size) % size;
  if (moved === 0) return x;
  return alongAxis(x, axis, (rows) => {
    const [outer, , inner] = rows.shape;
    const front = slice(rows, [0, size - moved, 0], [outer, moved, inner]);
    return concat([front, slice(rows, [0, 0, 0], [outer, size - moved, inner])], 1);
  });
}

function roll(node: GraphNode): Tensor {
  const x = input(node, 0);
  const shifts = constant(node.inputs[1]);
  return constant(node.inputs[2]).reduce(
    (turned, axis, i) => rolled(turned, shifts[i] ?? 0, axis < 0 ? axis + x.rank : axis),
    x.clone(),
  );
}

/** Zeroes the elements of the innermost matrices that are too far from the diagonal. */
function bandPart(node: GraphNode): Tensor {
  const x = input(node, 0);
  const [lower = 0] = constant(node.inputs[1]);
  const [upper = 0] = constant(node.inputs[2]);
  const [rows = 1, columns = 1] = x.shape.slice(-2);
  const band = Array.from({ length: rows * columns }, (_, i) => {
    const below = Math.floor(i / columns) - (i % columns);
    return (lower < 0 || below <= lower) && (upper < 0 || -below <= upper);
  });
  return select(tensor(band, [rows, columns], "bool"), x, zerosLike(x));
}

/** Reverses each row up to its own length. */
function reverseSequence(node: GraphNode): Tensor {
  const [x, lengths] = [input(node, 0), input(node, 1)];
  const axis = Number(node.attrs.seq_dim);
  if (Number(node.attrs.batch_dim ?? 0) !== 0 || axis === 0) {
    throw new Error("The graph reverses sequences whose batch is not the first axis; transpose them first.");
  }
  const order = x.shape.map((_, i) => (i === 1 ? axis : i === axis ? 1 : i));
  const sequences = axis === 1 ? x : transpose(x, order);
  const places = reshape(range(0, x.shape[axis] as number), [1, -1]);
  const ends = reshape(convert(lengths, "float32"), [-1, 1]);
  const sources = select(less(places, ends), sub(sub(ends, 1), places), places);
  const reversed = gather(sequences, convert(sources, "int32"), 1, 1);
  return axis === 1 ? reversed : transpose(reversed, order);
}

/** Replaces the rows at `indices`; no index may occur twice. */
function scatterUpdate(node: GraphNode): Tensor {
  const [x, indices, updates] = [input(node, 0), input(node, 1), input(node, 2)];
  const marks = scatterND(indices, fill(updates.shape, 1), x.shape as [number]);
  return select(greater(marks, 0), scatterND(indices, updates, x.shape as [number]), x);
}

export const special: Family = {
  Bucketize: bucketize,
  DenseBincount: denseBincount,
  InTopKV2: inTopK,
  L2Loss: (node) => mul(sum(square(input(node, 0))), 0.5),
  MatrixBandPart: bandPart,
  ReverseSequence: reverseSequence,
  Roll: roll,
  TensorScatterAdd: (node) => {
    const x = input(node, 0);
    return add(x, scatterND(input(node, 1), input(node, 2), x.shape as [number]));
  },
  TensorScatterUpdate: scatterUpdate,
  TopKV2: topK,
  Xdivy: zeroWins(div),
  Xlogy: zeroWins((x, y) => mul(x, log(y))),
};
