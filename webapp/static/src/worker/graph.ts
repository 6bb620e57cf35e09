/** One signature of a bundle, ready to run on the current backend. */

import { type GraphModel, loadGraphModel } from "@tensorflow/tfjs-converter";
import type { io, Tensor } from "@tensorflow/tfjs-core";
import type { Signature } from "../shared/bundle";
import { pinConstants } from "./constants";

export interface GraphFiles {
  readonly topology: object;
  readonly weightSpecs: io.WeightsManifestEntry[];
  readonly weights: ArrayBuffer[];
}

/** Tensors by the names that the bundle gives them. */
export type Tensors = Readonly<Record<string, Tensor>>;

/** Owns the graph's constants; they live on the backend that was current when it was loaded. */
export class Graph {
  private constructor(
    private readonly model: GraphModel,
    private readonly signature: Signature,
  ) {}

  static async load(signature: Signature, files: GraphFiles): Promise<Graph> {
    const { topology, weightSpecs, weights } = files;
    const model = await loadGraphModel({
      load: async () => ({ modelTopology: topology, weightSpecs, weightData: weights }),
    });
    pinConstants(model);
    return new Graph(model, signature);
  }

  /** Runs the graph once. The caller owns inputs and outputs. */
  run(inputs: Tensors): Record<string, Tensor> {
    const feed: Record<string, Tensor> = {};
    for (const { name, tensor } of this.signature.inputs) {
      const value = inputs[name];
      if (value === undefined)
        throw new Error(`The graph needs the input ${name}, which this page does not know.`);
      feed[tensor] = value;
    }
    const names = this.signature.outputs.map((output) => output.tensor);
    const outputs = this.model.execute(feed, names) as Tensor | Tensor[];
    const list = Array.isArray(outputs) ? outputs : [outputs];
    return Object.fromEntries(this.signature.outputs.map(({ name }, i) => [name, list[i] as Tensor]));
  }

  dispose(): void {
    this.model.dispose();
  }
}
