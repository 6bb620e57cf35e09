/** The model's output for one example. */

import { slice, type Tensor, tensor1d, tidy } from "@tensorflow/tfjs-core";
import type { Bundle } from "../shared/bundle";
import { elements, load } from "../shared/examples";
import type { BundleSource } from "./bundles";
import { batchTensors } from "./gradient";
import { Graph } from "./graph";

/** Owns the graph `predict`. */
export class Predictor {
  private constructor(
    private readonly bundle: Bundle,
    private readonly graph: Graph,
  ) {}

  static async load({ bundle, graphFiles }: BundleSource): Promise<Predictor> {
    return new Predictor(bundle, await Graph.load(bundle.signatures.predict, await graphFiles("predict")));
  }

  /** First output of raw values `input`; the graph's batch is filled up with zeros. For models of one input. */
  async predict(weights: Float32Array, input: Float32Array): Promise<Float32Array> {
    const { batch_size, inputs, parameters, preprocess } = this.bundle;
    const [spec] = inputs;
    if (spec === undefined || inputs.length !== 1)
      throw new Error(`The model takes ${inputs.length} inputs; only models of one input can be tried here.`);
    const width = elements(spec.shape);
    if (input.length !== width)
      throw new Error(`The model takes ${width} values, these are ${input.length}.`);
    const rows = new (spec.dtype === "int32" ? Int32Array : Float32Array)(batch_size * width);
    rows.set(load(input, preprocess, spec.dtype));
    const first = tidy(() => {
      const { output_0: output } = this.graph.run({
        trainable: tensor1d(weights.slice(0, parameters.trainable)),
        ...(parameters.state > 0 && { state: tensor1d(weights.slice(parameters.trainable)) }),
        ...batchTensors("x", [rows], inputs, batch_size),
      });
      const { shape } = output as Tensor;
      return slice(
        output as Tensor,
        shape.map(() => 0),
        [1, ...shape.slice(1)],
      );
    });
    const values = (await first.data()) as Float32Array;
    first.dispose();
    return values;
  }

  dispose(): void {
    this.graph.dispose();
  }
}
