/** Einstein summation. */

import { matMul, reshape, sum, type Tensor, transpose } from "@tensorflow/tfjs-core";
import type { Family } from "./family";

/** Sizes of an equation's labels, from the shapes of its operands. */
function labelSizes(terms: readonly string[], operands: readonly Tensor[]): Map<string, number> {
  const sizes = new Map<string, number>();
  terms.forEach((term, i) => {
    [...term].forEach((label, axis) => {
      sizes.set(label, operands[i]?.shape[axis] as number);
    });
  });
  return sizes;
}

/** Sums over the labels that nothing else uses. */
function reduceUnused(term: string, operand: Tensor, used: string): [string, Tensor] {
  const axes = [...term].flatMap((label, axis) => (used.includes(label) ? [] : [axis]));
  if (axes.length === 0) return [term, operand];
  return [[...term].filter((label) => used.includes(label)).join(""), sum(operand, axes)];
}

/** Reorders axes; a no-op costs nothing. */
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
  const [left = "", result = ""] = equation.replaceAll(" ", "").split("->");
  const terms = left.split(",");
  const [first, second] = operands;
  if (first === undefined || terms.length > 2 || equation.includes(".")) {
    throw new Error(
      `The graph holds the einsum ${equation}; only one or two operands without "..." are supported.`,
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
  Einsum: (node) => einsum(String(node.attrs.equation), node.inputs),
};
