/** The training step on separate variables, for backends that run generated shaders. */

import { concat1d, reshape, slice, Tensor, type Tensor1D, zeros } from "@tensorflow/tfjs-core";
import type { Bundle, Signature } from "../../core/data/bundle";
import { later } from "../../core/user-messages";
import { CORRECTION_INPUTS, type Correction, correctNodes } from "../../engine/fusion/gradient-correction";
import { shortConstants } from "../../engine/fusion/nodes";
import { scalarize } from "../../engine/fusion/scalars";
import { type ApplyPlan, partName, splitApply, splitTrain } from "../../engine/fusion/variables";
import { type Elementwise, elementwise } from "../../engine/gpu/elementwise";
import { Graph, type GraphFiles, type Tensors } from "../../engine/graph";
import type { Parts, Variables } from "./variables";

/** The same stages of the optimizer, compiled for variables of one shape. */
type CompiledStages = readonly Elementwise[];

/** Runs the optimizer on one variable after the other. Owns nothing. */
class PartwiseOptimizer {
  readonly #compiled = new Map<string, CompiledStages>();

  constructor(private readonly plan: ApplyPlan) {}

  /** Returns the new value and the new slots of one variable; call it within a tidy. */
  update(given: Tensors, scalars: Readonly<Record<string, number>>): { value: Tensor; slots: Parts } {
    const { stages, trainable, slots } = this.plan;
    const shape = given.trainable?.shape ?? [];
    const values = new Map(Object.entries(given));
    this.#stagesFor(shape).forEach((run, i) => {
      const stage = stages[i] as ApplyPlan["stages"][number];
      const tensors = stage.inputs.map((name) => values.get(name) as Tensor);
      values.set(
        stage.name,
        run(tensors, () => stage.scalars.map((name) => scalars[name] ?? Number.NaN)),
      );
    });
    return {
      value: values.get(trainable) as Tensor,
      slots: slots.map((name) => values.get(name) as Tensor),
    };
  }

  #stagesFor(shape: readonly number[]): CompiledStages {
    const key = String(shape);
    const stages =
      this.#compiled.get(key) ?? this.plan.stages.map(({ program }) => elementwise({ ...program, shape }));
    this.#compiled.set(key, stages);
    return stages;
  }
}

/** Plans the optimizer of a bundle with some corrections of the gradient; null if it treats the vector as a whole. */
function planApply(bundle: Bundle, apply: GraphFiles, corrections: readonly Correction[]): ApplyPlan | null {
  const { signatures, parameters, optimizer } = bundle;
  const inputs = signatures.apply.inputs.filter(({ shape }) => shape.length === 0).map(({ name }) => name);
  const scalars = [...inputs, CORRECTION_INPUTS.mu];
  const corrected = correctNodes(apply.topology.node, parameters.trainable, corrections);
  const { nodes, constants } = scalarize(
    corrected,
    scalars,
    shortConstants(apply.weightSpecs, apply.weights),
  );
  const wishes = { outputs: [], scalars, constants, device: "shaders" as const };
  const tensors = corrections.map((correction) => CORRECTION_INPUTS[correction]);
  return splitApply(nodes, wishes, parameters.trainable, optimizer.slots, tensors);
}

/** The step on variables. Owns the train graph, rewritten to take and give variables. */
export class PartwiseStep {
  /** The optimizers by their corrections, each compiled when a plan first needs it. */
  readonly #optimizers = new Map<string, PartwiseOptimizer>();

  private constructor(
    readonly train: Graph,
    private readonly bundle: Bundle,
    private readonly applyFiles: GraphFiles,
    private readonly shapes: readonly (readonly number[])[],
  ) {}

  /** Returns null if the graphs treat the vector as a whole. */
  static async load(bundle: Bundle, train: GraphFiles, apply: GraphFiles): Promise<PartwiseStep | null> {
    const shapes = bundle.layout.filter(({ trainable }) => trainable).map(({ shape }) => shape);
    const { signatures } = bundle;
    const vector = { trainable: "trainable", gradient: tensorOf(signatures.train, "gradient") };
    const split = splitTrain(train.topology.node, vector, shapes);
    if (split === null || planApply(bundle, apply, []) === null) return null;
    const signature = splitSignature(signatures.train, shapes, split.gradients);
    const graph = await Graph.load(signature, {
      ...train,
      topology: { ...train.topology, node: split.nodes },
    });
    return new PartwiseStep(graph, bundle, apply, shapes);
  }

  /** Returns the train graph's inputs that represent the variables. */
  inputs(trainable: Parts): Tensors {
    return Object.fromEntries(trainable.map((part, k) => [partName("trainable", k), part]));
  }

  /** Returns the gradients of the variables from the train graph's outputs; call it within a tidy. */
  gradients(outputs: Tensors): Parts {
    return this.shapes.map((shape, k) => {
      const gradient = outputs[partName("gradient", k)] as Tensor;
      return String(gradient.shape) === String(shape) ? gradient : reshape(gradient, [...shape]);
    });
  }

  /** Returns new variables, and new slots by slot and variable; call it within a tidy. */
  apply(
    trainable: Parts,
    slots: readonly Parts[],
    gradients: Parts,
    corrections: Readonly<Partial<Record<Correction, Parts>>>,
    scalars: Readonly<Record<string, number>>,
  ) {
    const given = Object.entries(corrections) as [Correction, Parts][];
    const optimizer = this.#optimizerFor(given.map(([correction]) => correction));
    const updated = trainable.map((value, k) => {
      const more = [
        ...slots.map((slot, s) => [partName("slots", s), slot[k]]),
        ...given.map(([correction, parts]) => [CORRECTION_INPUTS[correction], parts[k]]),
      ];
      const tensors = { trainable: value, gradient: gradients[k] as Tensor, ...Object.fromEntries(more) };
      return optimizer.update(tensors, scalars);
    });
    return {
      trainable: updated.map(({ value }) => value),
      slots: slots.map((_, s) => updated.map((variable) => variable.slots[s] as Tensor)),
    };
  }

  #optimizerFor(corrections: readonly Correction[]): PartwiseOptimizer {
    const key = String(corrections);
    const existing = this.#optimizers.get(key);
    if (existing !== undefined) return existing;
    const plan = planApply(this.bundle, this.applyFiles, corrections);
    if (plan === null)
      throw new Error(later("The task's optimizer cannot be corrected; ask its owner for another plan."));
    const optimizer = new PartwiseOptimizer(plan);
    this.#optimizers.set(key, optimizer);
    return optimizer;
  }

  /** Splits the variables and slots: a round starts with the flat vector and slots of zeros. */
  cut(variables: Variables, slots: number): { trainable: Parts; slots: readonly Parts[] } {
    const { trainable } = variables;
    if (!(trainable instanceof Tensor)) {
      return { trainable, slots: (variables.slots ?? []) as readonly Parts[] };
    }
    return {
      trainable: this.cutVector(trainable as Tensor1D),
      slots: Array.from({ length: slots }, () => this.shapes.map((shape) => zeros([...shape]))),
    };
  }

  /** Splits a vector of trainable values into variables; call it within a tidy. */
  cutVector(vector: Tensor1D): Parts {
    let start = 0;
    return this.shapes.map((shape) => {
      const size = shape.reduce((product, length) => product * length, 1);
      start += size;
      return reshape(slice(vector, [start - size], [size]), [...shape]);
    });
  }

  /** Joins the parts to one flat vector; call it within a tidy. */
  join(parts: Parts): Tensor {
    return concat1d(parts.map((part) => reshape(part, [part.size]) as Tensor1D));
  }

  dispose(): void {
    this.train.dispose();
  }
}

function tensorOf(signature: Signature, name: string): string {
  return signature.outputs.find((output) => output.name === name)?.tensor ?? name;
}

/** Returns the signature of `train` with one entry for each variable instead of the vector. */
function splitSignature(
  { inputs, outputs }: Signature,
  shapes: readonly (readonly number[])[],
  gradients: readonly string[],
): Signature {
  const part = (name: string, shape: readonly number[], k: number, tensor: string) => ({
    name: partName(name, k),
    tensor,
    shape,
    dtype: "float32" as const,
  });
  return {
    inputs: [
      ...inputs.filter(({ name }) => name !== "trainable"),
      ...shapes.map((shape, k) => part("trainable", shape, k, partName("trainable", k))),
    ],
    outputs: [
      ...outputs.filter(({ name }) => name !== "gradient"),
      ...shapes.map((shape, k) => part("gradient", shape, k, gradients[k] as string)),
    ],
  };
}
