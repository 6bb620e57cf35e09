/** Sums of rows by number: the gradient of a gather (embeddings). */

import { cast, reshape, type Tensor1D, UnsortedSegmentSum } from "@tensorflow/tfjs-core";
import { constant } from "../constant-inputs";
import { runKernel } from "./attributes";
import { convert, type NumberKind } from "./convert";
import { type Family, input } from "./types";

export const segment: Family = {
  UnsortedSegmentSum: (node) => {
    const [data, ids] = [input(node, 0), input(node, 1)];
    const [numSegments = 0] = constant(node.inputs[2]);
    // TensorFlow allows ids of any rank, the kernels of TF.js those of one dimension.
    const rows = reshape(data, [ids.size, ...data.shape.slice(ids.rank)]);
    const segmentIds: Tensor1D = reshape(cast(ids, "int32"), [ids.size]);
    // TF.js 4.22 sums floats only: whole numbers come back as floats, or as their bits on WebGPU.
    const sums = runKernel(UnsortedSegmentSum, { x: convert(rows, "float32"), segmentIds }, { numSegments });
    return convert(sums, data.dtype as NumberKind);
  },
};
