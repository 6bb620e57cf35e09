/** Matrix products and Einstein summation. */

import type { GraphNode } from "@tensorflow/tfjs-converter";
import { broadcastTo, matMul, reshape, sum, type Tensor, transpose } from "@tensorflow/tfjs-core";
import { commonShape } from "./broadcast";
import { type Family, input } from "./types";

const sizeOf = (shape: readonly number[]): number => shape.reduce((product, length) => product * length, 1);

/**
 * Whether a kernel that counts matrices modulo their number finds the right ones: `part` has all matrices of `whole`,
 * or lacks leading axes only.
 */
function repeats(part: readonly number[], whole: readonly number[]): boolean {
  const first = part.findIndex((length) => length !== 1);
  const own = first < 0 ? [] : part.slice(first);
  return own.every((length, i) => length === whole[whole.length - own.length + i]);
}

/**
 * Computes matrix products in batches. TF.js 4.22 broadcasts batches only if one has all leading axes of the other.
 */
function batchMatMul(node: GraphNode): Tensor {
  const [a, b] = [input(node, 0), input(node, 1)];
  const [batchA, batchB] = [a.shape.slice(0, -2), b.shape.slice(0, -2)];
  const batch = commonShape(batchA, batchB);
  const spread = (matrices: Tensor) => broadcastTo(matrices, [...batch, ...matrices.shape.slice(-2)]);
  const whole = [batchA, batchB].some((own) => sizeOf(own) === sizeOf(batch));
  return matMul(
    whole && repeats(batchA, batch) ? a : spread(a),
    repeats(batchB, batch) ? b : spread(b),
    node.attrs.adj_x === true,
    node.attrs.adj_y === true,
  );
}

/** Returns the sizes of an equation's labels, from the shapes of its operands. */
function labelSizes(terms: readonly string[], operands: readonly Tensor[]): Map<string, number> {
  const sizes = new Map<string, number>();
  terms.forEach((term, i) => {
    [...term].forEach((label, axis) => {
      sizes.set(label, operands[i]?.shape[axis] as number);
    });
  });
  return sizes;
}

/**
 * Returns the equation with a label for each axis that "..." stands for; they are aligned at the end, as in
 * broadcasting.
 */
function withoutEllipsis(equation: string, operands: readonly Tensor[]): string {
  if (!equation.includes("...")) return equation;
  const [left = "", result = ""] = equation.split("->");
  const hidden = left
    .split(",")
    .map((term, i) => (term.includes("...") ? (operands[i]?.rank ?? 0) - (term.length - 3) : 0));
  const labels = Array.from({ length: Math.max(...hidden) }, (_, i) => String.fromCharCode(0x3b1 + i)).join(
    "",
  );
  const last = (count: number) => labels.slice(labels.length - count);
  const terms = left.split(",").map((term, i) => term.replace("...", last(hidden[i] ?? 0)));
  return `${terms.join(",")}->${result.replace("...", labels)}`;
}

/** Sums over the labels that occur nowhere else. */
function reduceUnused(term: string, operand: Tensor, used: string): [string, Tensor] {
  const axes = [...term].flatMap((label, axis) => (used.includes(label) ? [] : [axis]));
  if (axes.length === 0) return [term, operand];
  return [[...term].filter((label) => used.includes(label)).join(""), sum(operand, axes)];
}

/** Reorders axes; without a change it costs nothing. */
function permute(operand: Tensor, from: string, to: string): Tensor {
  return from === to
    ? operand
    : transpose(
        operand,
        [...to].map((label) => from.indexOf(label)),
      );
}

/**
 * Einstein summation of two operands as one batched matrix product: axes are sorted into batch (in both operands and
 * the result), contracted (in both operands only) and free ones. TF.js' own kernel multiplies the broadcast operands
 * element by element, and the WASM backend has none.
 */
function einsum(equation: string, operands: readonly Tensor[]): Tensor {
  const [left = "", result = ""] = withoutEllipsis(equation.replaceAll(" ", ""), operands).split("->");
  const terms = left.split(",");
  const [first, second] = operands;
  if (first === undefined || terms.length > 2 || terms.some((term) => new Set(term).size < term.length)) {
    throw new Error(
      `The graph holds the einsum ${equation}; only one or two operands with different labels each are supported.`,
    );
  }
  const [termA = "", termB = ""] = terms;
  if (second === undefined) {
    const [term, reduced] = reduceUnused(termA, first, result);
    return permute(reduced, term, result);
  }
  const sizes = labelSizes(terms, operands);
  const [a, operandA] = reduceUnused(termA, first, termB + result);
  const [b, operandB] = reduceUnused(termB, second, termA + result);
  const batch = [...a].filter((label) => b.includes(label) && result.includes(label));
  const contracted = [...a].filter((label) => b.includes(label) && !result.includes(label));
  const freeA = [...a].filter((label) => !b.includes(label));
  const freeB = [...b].filter((label) => !a.includes(label));
  const size = (labels: readonly string[]) => labels.reduce((n, label) => n * (sizes.get(label) ?? 1), 1);
  const matrixA = permute(operandA, a, [...batch, ...freeA, ...contracted].join(""));
  const matrixB = permute(operandB, b, [...batch, ...contracted, ...freeB].join(""));
  const product = matMul(
    reshape(matrixA, [size(batch), size(freeA), size(contracted)]),
    reshape(matrixB, [size(batch), size(contracted), size(freeB)]),
  );
  const order = [...batch, ...freeA, ...freeB];
  const shaped = reshape(
    product,
    order.map((label) => sizes.get(label) ?? 1),
  );
  return permute(shaped, order.join(""), result);
}

export const linear: Family = {
  BatchMatMulV2: batchMatMul,
  Einsum: (node) => einsum(String(node.attrs.equation), node.inputs),
};
