import "@tensorflow/tfjs-backend-cpu";
import { memory, setBackend, type Tensor, tensor1d } from "@tensorflow/tfjs-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Signature } from "../../../../webapp/static/src/core/data/bundle";
import { Graph } from "../../../../webapp/static/src/engine/graph";
import type { GraphRun } from "../../../../webapp/static/src/engine/graph-observer";
import { computeNode } from "../../../../webapp/static/src/engine/single-node";

const float = { type: "DT_FLOAT" };
const named = (name: string) => ({ name, tensor: name, shape: [2], dtype: "float32" as const });
const signature: Signature = { inputs: [named("x")], outputs: [named("sum")] };
const files = {
  topology: {
    node: [
      { name: "x", op: "Placeholder", attr: { dtype: float } },
      { name: "two", op: "Const", attr: { dtype: float } },
      { name: "twice", op: "Mul", input: ["x", "two"], attr: { T: float } },
      { name: "sum", op: "AddV2", input: ["twice", "x", "^two"], attr: { T: float } },
    ],
    versions: {},
  },
  weightSpecs: [{ name: "two", shape: [2], dtype: "float32" as const }],
  weights: [Float32Array.of(2, 2).buffer],
};

let graph: Graph;
beforeAll(async () => {
  await setBackend("cpu");
  graph = await Graph.load(signature, files);
});
afterAll(() => graph.dispose());

describe("an observed graph", () => {
  it("gives the values of all nodes in their order, and keeps none of them", () => {
    const x = tensor1d([1, 3]);
    const { numTensors } = memory();
    const seen: [string, number[]][] = [];
    graph.observer = ({ values }: GraphRun) => {
      for (const [name, [value]] of Object.entries(values))
        seen.push([name, Array.from(value?.dataSync() ?? [])]);
    };
    const { sum } = graph.run({ x });
    graph.observer = null;
    expect(seen).toEqual([
      ["two", [2, 2]],
      ["x", [1, 3]],
      ["twice", [2, 6]],
      ["sum", [3, 9]],
    ]);
    expect(memory().numTensors).toBe(numTensors + 1);
    expect(graph.run({ x }).sum?.dataSync()).toEqual(sum?.dataSync());
  });
});

describe("a single node", () => {
  it("is computed from its inputs that are no constants", async () => {
    const values: Tensor[] = [tensor1d([2, 6]), tensor1d([1, 3])];
    expect(Array.from((await computeNode(graph, "sum", 0, values)).dataSync())).toEqual([3, 9]);
    expect(Array.from((await computeNode(graph, "twice", 0, values.slice(0, 1))).dataSync())).toEqual([
      4, 12,
    ]);
  });

  it("is refused with other inputs than it has", async () => {
    await expect(computeNode(graph, "sum", 0, [tensor1d([1, 2])])).rejects.toThrow("takes other inputs");
    await expect(computeNode(graph, "none", 0, [])).rejects.toThrow("has no op none");
  });
});
