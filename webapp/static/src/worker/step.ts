/** One training step: the train graph, then the apply graph, on tensors that stay on the backend. */

import {
  concat,
  reshape,
  scalar,
  type Tensor,
  type Tensor1D,
  tensor,
  tensor1d,
  tidy,
  zeros,
} from "@tensorflow/tfjs-core";
import type { Bundle, TensorSpec } from "../shared/bundle";
import { uniform } from "../shared/philox";
import type { Batch } from "../shared/preprocess";
import type { BundleSource } from "./bundles";
import { Graph, type Tensors } from "./graph";

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

/** Where a step stands: `seed` is the plan's, `step` counts from 1 within a round, `pastSteps` before it. */
export interface Moment {
  readonly seed: number;
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

/** The parts of a batch as the inputs `prefix_0`, `prefix_1`, ... of a graph. */
export function batchTensors(
  prefix: "x" | "y",
  parts: Batch["x"],
  specs: readonly TensorSpec[],
  size: number,
): Tensors {
  return Object.fromEntries(
    specs.map(({ shape, dtype }, i) => [
      `${prefix}_${i}`,
      tensor(parts[i] as Float32Array | Int32Array, [size, ...shape], dtype),
    ]),
  );
}

/** Owns the graphs `train` and `apply`. */
export class TrainingStep {
  private constructor(
    private readonly bundle: Bundle,
    private readonly train: Graph,
    private readonly apply: Graph,
  ) {}

  static async load({ bundle, graphFiles }: BundleSource): Promise<TrainingStep> {
    const [train, apply] = await Promise.all([graphFiles("train"), graphFiles("apply")]);
    return new TrainingStep(
      bundle,
      await Graph.load(bundle.signatures.train, train),
      await Graph.load(bundle.signatures.apply, apply),
    );
  }

  /** Runs one step and disposes the variables it started from. The caller owns the result. */
  run(variables: Variables, batch: Batch, moment: Moment): StepResult {
    const result = tidy(() => {
      const { gradient, loss, metrics, state } = this.gradient(variables, batch, moment);
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
  gradient({ trainable, state }: Variables, batch: Batch, { seed, step }: Moment) {
    const size = this.bundle.batch_size;
    const random: Tensors = Object.fromEntries(
      this.bundle.random.map(({ name, shape }, stream) => {
        const count = shape.reduce((product, length) => product * length, 1);
        return [name, tensor(uniform(seed, step, stream, count), [...shape])];
      }),
    );
    const outputs = this.train.run({
      trainable,
      ...(state && { state }),
      ...batchTensors("x", batch.x, this.bundle.inputs, size),
      ...batchTensors("y", batch.y, this.bundle.labels, size),
      sample_weight: tensor1d(batch.sampleWeight),
      ...random,
    });
    return {
      loss: outputs.loss as Tensor,
      gradient: outputs.gradient as Tensor,
      metrics: outputs.metrics,
      state: outputs.new_state,
    };
  }

  dispose(): void {
    this.train.dispose();
    this.apply.dispose();
  }
}
