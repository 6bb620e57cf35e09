/** Computes one node of a graph alone, from given inputs. */

import { loadGraphModel } from "@tensorflow/tfjs-converter";
import type { Tensor } from "@tensorflow/tfjs-core";
import { dataInputs, sourceOf } from "./fusion/nodes";
import type { Graph } from "./graph";

const DTYPES: Readonly<Record<string, string>> = { float32: "DT_FLOAT", int32: "DT_INT32", bool: "DT_BOOL" };

/** Returns output `index` of a node; `values` are those of its inputs that are no constants, in their order. */
export async function computeNode(
  graph: Graph,
  name: string,
  index: number,
  values: readonly Tensor[],
): Promise<Tensor> {
  const node = graph.nodes.find((one) => one.name === name);
  if (node === undefined) throw new Error(`The training step has no op ${name}.`);
  const constants = dataInputs(node).map((input) => graph.model.weights[sourceOf(input)]?.[0]);
  if (constants.filter((constant) => constant === undefined).length !== values.length)
    throw new Error(`The op ${name} takes other inputs.`);
  const given = [...values];
  const tensors = constants.map((constant) => constant ?? (given.shift() as Tensor));
  const inputs = tensors.map((_, i) => `given_${i}`);
  const placeholders = tensors.map(({ dtype }, i) => ({
    name: inputs[i] as string,
    op: "Placeholder",
    attr: { dtype: { type: DTYPES[dtype] } },
  }));
  const model = await loadGraphModel({
    load: async () => ({
      modelTopology: { node: [...placeholders, { ...node, input: inputs }], versions: {} },
      weightSpecs: [],
      weightData: new ArrayBuffer(0),
    }),
  });
  const feed = Object.fromEntries(inputs.map((input, i) => [input, tensors[i] as Tensor]));
  try {
    return model.execute(feed, `${name}:${index}`) as Tensor;
  } finally {
    model.dispose();
  }
}
