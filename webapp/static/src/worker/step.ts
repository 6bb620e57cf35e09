/** One training step: the train graph, then the apply graph, on tensors that stay on the backend. */

import {
  concat,
  reshape,
  scalar,
  type Tensor,
  type Tensor1D,
  tensor1d,
  tidy,
  zeros,
} from "@tensorflow/tfjs-core";
import type { Bundle } from "../shared/bundle";
import type { BundleSource } from "./bundles";
import { type Gradient, gradientInSlices, gradientOf } from "./gradient";
import { Graph } from "./graph";
import type { PreparedBatch } from "./input/order";

/** What a step changes. Whoever holds it disposes it. */
export interface Variables {
  readonly trainable: Tensor;
  /** Non-trainable values; absent if the model has none. */
  readonly state?: Tensor;
  /** The optimizer's; absent for plain sgd. */
  readonly slots?: Tensor;
}

export interface StepResult {
  readonly variables: Variables;
  /** Loss, then numerator and denominator of each metric. */
  readonly report: Tensor1D;
}

/** Where a step stands: `step` counts from 1 within a round, `pastSteps` before it. */
export interface Moment {
  readonly step: number;
  readonly pastSteps: number;
  readonly learningRate: number;
}

/** Splits the flat vector and starts the slots at zero. */
export function startVariables(bundle: Bundle, weights: Float32Array): Variables {
  const { trainable, state } = bundle.parameters;
  const { slots } = bundle.optimizer;
  return {
    trainable: tensor1d(weights.slice(0, trainable)),
    ...(state > 0 && { state: tensor1d(weights.slice(trainable)) }),
    ...(slots > 0 && { slots: zeros([slots, trainable]) }),
  };
}

export function disposeVariables(variables: Variables): void {
  for (const value of Object.values(variables) as Tensor[]) value.dispose();
}

/** Owns the graphs `train` and `apply`. */
export class TrainingStep {
  private constructor(
    private readonly bundle: Bundle,
    private readonly sliced: boolean,
    private readonly train: Graph,
    private readonly apply: Graph,
  ) {}

  /** `sliced` takes a batch in the bundle's slices, for a device with little memory. */
  static async load({ bundle, graphFiles }: BundleSource, sliced = false): Promise<TrainingStep> {
    const name = sliced ? "train_slice" : "train";
    const { [name]: signature, apply } = bundle.signatures;
    if (signature === undefined) throw new Error("This task's bundle has no slices; load whole batches.");
    const [trainFiles, applyFiles] = await Promise.all([graphFiles(name), graphFiles("apply")]);
    const train = await Graph.load(signature, trainFiles);
    return new TrainingStep(bundle, sliced, train, await Graph.load(apply, applyFiles));
  }

  /** Runs one step and disposes the variables it started from. The caller owns the result. */
  run(variables: Variables, batch: PreparedBatch, moment: Moment): StepResult {
    const result = tidy(() => {
      const { gradient, loss, metrics, state } = this.gradient(variables, batch);
      const { new_trainable, new_slots } = this.apply.run({
        ...variables,
        gradient,
        learning_rate: scalar(moment.learningRate),
        step: scalar(moment.step),
        past_steps: scalar(moment.pastSteps),
      });
      return {
        trainable: new_trainable as Tensor,
        report: concat([
          reshape(loss, [1]),
          ...(metrics === undefined ? [] : [reshape(metrics, [-1])]),
        ]) as Tensor1D,
        ...(state && { state }),
        ...(new_slots && { slots: new_slots }),
      };
    });
    disposeVariables(variables);
    const { report, ...next } = result;
    return { variables: next, report };
  }

  /** Loss, metrics, gradient and new state of one batch; call it within a tidy. */
  gradient({ trainable, state }: Variables, batch: PreparedBatch): Gradient {
    const { slice } = this.bundle;
    if (this.sliced && slice) return gradientInSlices(this.bundle, this.train, trainable, state, batch);
    return gradientOf(this.bundle, this.bundle.batch_size, this.train, trainable, state, batch);
  }

  dispose(): void {
    this.train.dispose();
    this.apply.dispose();
  }
}
