/** Computes the model's output for one example. */

import { slice, type Tensor, tensor1d, tidy } from "@tensorflow/tfjs-core";
import type { Bundle, PartSpec } from "../../core/data/bundle";
import { elements, load } from "../../core/data/examples";
import { later, UserError } from "../../core/user-messages";
import { Graph } from "../../engine/graph";
import type { BundleSource } from "../downloads/bundles";
import { batchTensors } from "../training/gradient";

/** Runs the model. Owns the graph `predict`. */
export class Predictor {
  private constructor(
    private readonly bundle: Bundle,
    private readonly graph: Graph,
  ) {}

  static async load({ bundle, graphFiles }: BundleSource): Promise<Predictor> {
    return new Predictor(bundle, await Graph.load(bundle.signatures.predict, await graphFiles("predict")));
  }

  /** Returns the first output for the stored values `x` of each input; the graph's batch is padded with zeros. */
  async predict(weights: Float32Array, x: readonly ArrayLike<number>[]): Promise<Float32Array> {
    const { batch_size, inputs, parameters } = this.bundle;
    const rows = inputs.map((spec, i) => this.#batch(spec, x[i] ?? []));
    const first = tidy(() => {
      const { output_0: output } = this.graph.run({
        trainable: tensor1d(weights.slice(0, parameters.trainable)),
        ...(parameters.state > 0 && { state: tensor1d(weights.slice(parameters.trainable)) }),
        ...batchTensors("x", rows, inputs, batch_size),
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

  #batch({ shape, dtype }: PartSpec, stored: ArrayLike<number>): Float32Array | Int32Array {
    const width = elements(shape);
    if (stored.length !== width)
      throw new UserError(
        later("The model takes %(expected)s values, these are %(given)s.", {
          expected: width,
          given: stored.length,
        }),
      );
    const rows = new (dtype === "int32" ? Int32Array : Float32Array)(this.bundle.batch_size * width);
    rows.set(load(stored, this.bundle.preprocess, dtype));
    return rows;
  }

  dispose(): void {
    this.graph.dispose();
  }
}
