/** The gradient of a cross-entropy keeps its digits, however sure the model is. */

import "@tensorflow/tfjs-backend-cpu";
import { setBackend, type Tensor, tensor1d, tensor2d } from "@tensorflow/tfjs-core";
import { beforeAll, expect, it } from "vitest";
import type { Signature } from "../../../../webapp/static/src/core/data/bundle";
import { Graph } from "../../../../webapp/static/src/engine/graph";
import { registerOps } from "../../../../webapp/static/src/engine/ops";

// Unsure rows, and one each that is sure of the right class and of a wrong one.
const LOGITS = [
  [0.1, -0.2, 0.3],
  [1.5, 0.5, -2],
  [-9, 9.5, -11],
  [-8, 9, -10],
];
const CLASSES = [0, 2, 1, 0];
const ONE_HOT = CLASSES.map((chosen) => [0, 1, 2].map((place) => Number(place === chosen)));
// Keras multiplies labels by weights, and they need not be of one class.
const SOFT = [
  [0.2, 0.3, 0.5],
  [3, 0, 0],
  [0, 0, 0],
  [0.4, 0.4, 0.2],
];

const float = { type: "DT_FLOAT" };

async function gradientOf(op: string, labels: Tensor): Promise<number[]> {
  const labelType = labels.dtype === "int32" ? { type: "DT_INT32" } : float;
  const signature: Signature = {
    inputs: [
      { name: "logits", tensor: "logits", shape: [4, 3], dtype: "float32" },
      { name: "labels", tensor: "labels", shape: labels.shape, dtype: labels.dtype as "float32" | "int32" },
    ],
    outputs: [{ name: "gradient", tensor: "loss:1", shape: [4, 3], dtype: "float32" }],
  };
  const node = [
    { name: "logits", op: "Placeholder", attr: { dtype: float } },
    { name: "labels", op: "Placeholder", attr: { dtype: labelType } },
    { name: "loss", op, input: ["logits", "labels"], attr: { T: float, Tlabels: labelType } },
  ];
  const topology = { node, versions: {} };
  const graph = await Graph.load(signature, { topology, weightSpecs: [], weights: [] });
  const { gradient } = graph.run({ logits: tensor2d(LOGITS), labels });
  const found = Array.from(gradient?.dataSync() ?? []);
  graph.dispose();
  return found;
}

/** Returns probabilities minus labels; what is left to one is the sum of the other probabilities. */
function truth(labels: readonly number[][]): number[] {
  return LOGITS.flatMap((row, place) => {
    const powers = row.map((logit) => Math.exp(logit - Math.max(...row)));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power, i) => {
      const label = labels[place]?.[i] ?? 0;
      return label === 1 ? -(total - power) / total : power / total - label;
    });
  });
}

function relativeError(found: readonly number[], wanted: readonly number[]): number {
  expect(found.length).toBe(wanted.length);
  return Math.max(...found.map((value, i) => Math.abs(value / (wanted[i] ?? 0) - 1)));
}

beforeAll(async () => {
  registerOps();
  await setBackend("cpu");
});

it.each([
  ["SparseSoftmaxCrossEntropyWithLogits", () => tensor1d(CLASSES, "int32")],
  ["SoftmaxCrossEntropyWithLogits", () => tensor2d(ONE_HOT)],
])("%s has seven digits of what is left to learn of a sure row", async (op, labels) => {
  expect(relativeError(await gradientOf(op, labels()), truth(ONE_HOT))).toBeLessThan(2e-6);
});

it("subtracts labels that are no single class", async () => {
  const found = await gradientOf("SoftmaxCrossEntropyWithLogits", tensor2d(SOFT));
  const wanted = truth(SOFT);
  expect(Math.max(...found.map((value, i) => Math.abs(value - (wanted[i] ?? 0))))).toBeLessThan(3e-7);
});
