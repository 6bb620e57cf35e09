/** One training step: the train graph, then the apply graph, on tensors that stay on the backend. */

import {
  clone,
  concat1d,
  dispose,
  reshape,
  Tensor,
  type Tensor1D,
  type TensorContainer,
  tensor1d,
  tensor2d,
  tidy,
  zeros,
} from "@tensorflow/tfjs-core";
import type { Bundle } from "../../core/data/bundle";
import { later } from "../../core/user-messages";
import { pinnedScalar } from "../../engine/constant-inputs";
import {
  CORRECTION_INPUTS,
  type Correction,
  correctNodes,
  correctSignature,
} from "../../engine/fusion/gradient-correction";
import { hasShaders } from "../../engine/gpu/elementwise";
import { Graph, type GraphFiles, type Tensors } from "../../engine/graph";
import type { BundleSource } from "../downloads/bundles";
import { type Gradient, gradientInSlices, gradientOf, rowSquaresInput, runTrain } from "./gradient";
import type { PreparedBatch } from "./input/batch-order";
import { type Bound, privateGradient } from "./private-step";
import { PartwiseStep } from "./variable-step";
import type { Parts, Variables } from "./variables";

export interface StepResult {
  readonly variables: Variables;
  /** Loss, then numerator and denominator of each metric. */
  readonly report: Tensor1D;
}

/**
 * What a plan adds to each gradient (see engine/fusion/gradient-correction.ts), on the backend. Its owner disposes
 * it.
 */
export interface Corrections {
  readonly mu: number;
  readonly tensors: Readonly<Partial<Record<Correction, Tensor | Parts>>>;
}

export const NO_CORRECTIONS: Corrections = { mu: 0, tensors: {} };

/** The position of a step: `step` counts from 1 within a round, `pastSteps` are those before the round. */
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
  dispose(Object.values(variables) as TensorContainer[]);
}

export function disposeCorrections({ tensors }: Corrections): void {
  dispose(Object.values(tensors) as TensorContainer[]);
}

/** Returns all values as one vector; call it within a tidy. */
export function flatVector({ trainable, state }: Variables): Tensor1D {
  const parts = trainable instanceof Tensor ? [trainable] : trainable;
  const vectors = [...parts, ...(state ? [state] : [])].map((part) => reshape(part, [part.size]) as Tensor1D);
  return concat1d(vectors);
}

/** Returns the optimizer's values, slot after slot, as one vector; call it within a tidy. */
export function flatSlots(slots: NonNullable<Variables["slots"]>): Tensor1D {
  const parts = slots instanceof Tensor ? [slots] : slots.flat();
  return concat1d(parts.map((part) => reshape(part, [part.size]) as Tensor1D));
}

/** Joins loss and metrics in one tensor, for one readback. */
function reportOf(loss: Tensor, metrics: Tensor | undefined): Tensor1D {
  const parts = [reshape(loss, [1]), ...(metrics === undefined ? [] : [reshape(metrics, [-1])])];
  return concat1d(parts as Tensor1D[]);
}

/** The graphs on the flat vector. */
class FlatStep {
  /** The graph `apply` by the corrections it includes. */
  readonly #corrected = new Map<string, Graph>();

  private constructor(
    readonly train: Graph,
    readonly apply: Graph,
    private readonly bundle: Bundle,
    private readonly applyFiles: GraphFiles,
  ) {}

  static async load(bundle: Bundle, train: Graph, applyFiles: GraphFiles): Promise<FlatStep> {
    const apply = await Graph.load(bundle.signatures.apply, applyFiles);
    return new FlatStep(train, apply, bundle, applyFiles);
  }

  /** Returns the optimizer with these corrections; `correct` must have been called for them. */
  applyFor(corrections: readonly string[]): Graph {
    return this.#corrected.get(String(corrections)) ?? this.apply;
  }

  async correct(corrections: readonly Correction[]): Promise<void> {
    const key = String(corrections);
    if (corrections.length === 0 || this.#corrected.has(key)) return;
    const size = this.bundle.parameters.trainable;
    const { topology } = this.applyFiles;
    const files = {
      ...this.applyFiles,
      topology: { ...topology, node: correctNodes(topology.node, size, corrections) },
    };
    const signature = correctSignature(this.bundle.signatures.apply, size, corrections);
    this.#corrected.set(key, await Graph.load(signature, files));
  }

  dispose(): void {
    for (const graph of [this.train, this.apply, ...this.#corrected.values()]) graph.dispose();
  }
}

/** The training step. Owns the graphs `train` and `apply`. */
export class TrainingStep {
  private constructor(
    private readonly bundle: Bundle,
    private readonly sliced: boolean,
    private readonly graphs: PartwiseStep | FlatStep,
  ) {}

  /** `sliced` computes a batch in the bundle's slices, for a device with little memory. */
  static async load({ bundle, graphFiles }: BundleSource, sliced = false): Promise<TrainingStep> {
    const name = sliced ? "train_slice" : "train";
    const { [name]: signature } = bundle.signatures;
    if (signature === undefined)
      throw new Error(later("This task's bundle has no slices; load whole batches."));
    const [trainFiles, applyFiles] = await Promise.all([graphFiles(name), graphFiles("apply")]);
    const partwise = hasShaders() && !sliced ? await PartwiseStep.load(bundle, trainFiles, applyFiles) : null;
    if (partwise !== null) return new TrainingStep(bundle, sliced, partwise);
    const train = await Graph.load(signature, trainFiles);
    return new TrainingStep(bundle, sliced, await FlatStep.load(bundle, train, applyFiles));
  }

  /** The graphs of a step that can be traced. Throws an Error for people if it is made of shaders or slices. */
  get traceable(): { readonly train: Graph; readonly apply: Graph } {
    if (this.graphs instanceof FlatStep && !this.sliced) return this.graphs;
    throw new Error("A training is traced on whole batches, by a backend without generated shaders.");
  }

  /** Uploads the values of a saved state. The caller owns the result. */
  restore(weights: Float32Array, slots: Float32Array): Variables {
    const { graphs, bundle } = this;
    const { trainable } = bundle.parameters;
    const { slots: count } = bundle.optimizer;
    const { state, ...start } = startVariables(bundle, weights);
    if (graphs instanceof FlatStep) {
      const { slots: zeroed, ...values } = start;
      if (zeroed === undefined) return { ...values, ...(state && { state }) };
      dispose(zeroed as Tensor);
      return { ...values, ...(state && { state }), slots: tensor2d(slots, [count, trainable]) };
    }
    const cut = (values: Float32Array) => tidy(() => [...graphs.cutVector(tensor1d(values))]);
    disposeVariables(start);
    return {
      trainable: cut(weights.slice(0, trainable)),
      ...(state && { state }),
      ...(count > 0 && {
        slots: Array.from({ length: count }, (_, slot) =>
          cut(slots.slice(slot * trainable, (slot + 1) * trainable)),
        ),
      }),
    };
  }

  /** Uploads what a plan adds to each gradient: `start` and `drift` have a value for each trainable one. */
  async corrections(mu: number, vectors: Partial<Record<Correction, Float32Array>>): Promise<Corrections> {
    const given = Object.entries(vectors) as [Correction, Float32Array][];
    const { graphs } = this;
    if (graphs instanceof FlatStep) await graphs.correct(given.map(([name]) => name));
    const put = (values: Float32Array) => {
      const vector = tensor1d(values);
      return graphs instanceof FlatStep ? vector : [...graphs.cutVector(vector)];
    };
    const tensors = tidy(() => Object.fromEntries(given.map(([name, values]) => [name, put(values)])));
    return { mu: Math.fround(mu), tensors };
  }

  /** Runs one step and disposes the variables it started from. The caller owns the result. */
  run(
    variables: Variables,
    batch: PreparedBatch,
    moment: Moment,
    corrections = NO_CORRECTIONS,
    bound: Bound | null = null,
  ): StepResult {
    const result = tidy(() => {
      const { loss, metrics, ...next } =
        this.graphs instanceof FlatStep
          ? this.#runFlat(this.graphs, variables, batch, moment, corrections, bound)
          : this.#runPartwise(this.graphs, variables, batch, moment, corrections, bound);
      return { ...next, report: reportOf(loss, metrics) };
    });
    disposeVariables(variables);
    const { report, ...next } = result;
    return { variables: next, report };
  }

  #runFlat(
    graphs: FlatStep,
    variables: Variables,
    batch: PreparedBatch,
    moment: Moment,
    { mu, tensors }: Corrections,
    bound: Bound | null,
  ) {
    const { learningRate, step, pastSteps } = moment;
    const { gradient, rowSquares, loss, metrics, state } = bound
      ? this.#privateGradient(variables, batch, bound)
      : this.gradient(variables, batch);
    const given = Object.entries(tensors) as [Correction, Tensor][];
    const changed = bound !== null || given.length > 0;
    const { new_trainable, new_slots } = graphs.applyFor(given.map(([name]) => name)).run({
      ...(variables as unknown as Tensors),
      gradient,
      ...rowSquaresInput(this.bundle, changed ? undefined : rowSquares),
      learning_rate: pinnedScalar(learningRate),
      step: pinnedScalar(step),
      past_steps: pinnedScalar(pastSteps),
      ...(given.length > 0 && { [CORRECTION_INPUTS.mu]: pinnedScalar(mu) }),
      ...Object.fromEntries(given.map(([name, tensor]) => [CORRECTION_INPUTS[name], tensor])),
    });
    return {
      loss,
      metrics,
      trainable: new_trainable as Tensor,
      ...(state && { state }),
      ...(new_slots && { slots: new_slots }),
    };
  }

  #runPartwise(
    partwise: PartwiseStep,
    variables: Variables,
    batch: PreparedBatch,
    moment: Moment,
    { mu, tensors }: Corrections,
    bound: Bound | null,
  ) {
    const { trainable, slots } = partwise.cut(variables, this.bundle.optimizer.slots);
    const { gradients, loss, metrics, state } = bound
      ? this.#privateParts(partwise, { ...variables, trainable }, batch, bound)
      : this.#gradientParts(partwise, trainable, variables.state, batch);
    const corrections = tensors as Readonly<Partial<Record<Correction, Parts>>>;
    const next = partwise.apply(trainable, slots, gradients, corrections, {
      learning_rate: Math.fround(moment.learningRate),
      step: moment.step,
      past_steps: moment.pastSteps,
      [CORRECTION_INPUTS.mu]: mu,
    });
    return {
      loss,
      metrics,
      trainable: next.trainable,
      ...(state && { state }),
      ...(slots.length > 0 && { slots: next.slots }),
    };
  }

  #gradientParts(partwise: PartwiseStep, trainable: Parts, before: Tensor | undefined, batch: PreparedBatch) {
    const outputs = this.#runTrain(partwise, trainable, before, batch);
    const { loss, metrics, new_state: state } = outputs;
    return { gradients: partwise.gradients(outputs), loss: loss as Tensor, metrics, state };
  }

  #privateParts(partwise: PartwiseStep, variables: Variables, batch: PreparedBatch, bound: Bound) {
    const { gradient, ...others } = this.#privateGradient(variables, batch, bound);
    return { gradients: partwise.cutVector(gradient as Tensor1D), ...others };
  }

  /** The state is copied unchanged to a new tensor. */
  #privateGradient(variables: Variables, batch: PreparedBatch, bound: Bound): Gradient {
    const run = (part: PreparedBatch) => this.gradient(variables, part);
    const result = privateGradient(run, batch, this.bundle.parameters.trainable, bound);
    return { ...result, state: variables.state && clone(variables.state) };
  }

  #runTrain(
    partwise: PartwiseStep,
    trainable: Parts,
    state: Tensor | undefined,
    batch: PreparedBatch,
  ): Tensors {
    const { batch_size } = this.bundle;
    return runTrain(this.bundle, batch_size, partwise.train, partwise.inputs(trainable), state, batch);
  }

  /** Returns loss, metrics, flat gradient and new state of one batch; call it within a tidy. */
  gradient(variables: Variables, batch: PreparedBatch): Gradient {
    const { slice, batch_size } = this.bundle;
    const { state } = variables;
    const { graphs } = this;
    if (graphs instanceof PartwiseStep) {
      const { trainable } = graphs.cut(variables, 0);
      const outputs = this.#runTrain(graphs, trainable, state, batch);
      return {
        loss: outputs.loss as Tensor,
        gradient: graphs.join(graphs.gradients(outputs)),
        metrics: outputs.metrics,
        state: outputs.new_state,
      };
    }
    const trainable = variables.trainable as Tensor;
    if (this.sliced && slice) return gradientInSlices(this.bundle, graphs.train, trainable, state, batch);
    return gradientOf(this.bundle, batch_size, graphs.train, trainable, state, batch);
  }

  dispose(): void {
    this.graphs.dispose();
  }
}
