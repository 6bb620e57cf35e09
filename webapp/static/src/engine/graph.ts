/** One signature of a bundle, ready to run on the current backend. */

import { type GraphModel, loadGraphModel } from "@tensorflow/tfjs-converter";
import type { io, NamedTensorMap, Tensor } from "@tensorflow/tfjs-core";
import type { NamedTensor, Signature } from "../core/data/bundle";
import { pinConstants } from "./constant-inputs";
import { fuse } from "./fusion";
import { CORRECTION_INPUTS } from "./fusion/gradient-correction";
import { type GraphTopology, type NodeDef, shortConstants } from "./fusion/nodes";
import { scalarize } from "./fusion/scalars";
import { fusingDevice, install } from "./gpu/elementwise";
import { execute, executeObserved, type GraphObserver } from "./graph-observer";
import { validateGraph } from "./graph-validation";
import { RepeatedRuns } from "./recording/repeated-runs";

export interface GraphFiles {
  readonly topology: GraphTopology;
  readonly weightSpecs: io.WeightsManifestEntry[];
  readonly weights: ArrayBuffer[];
}

/** Tensors by the names that the bundle gives them. */
export type Tensors = Readonly<Record<string, Tensor>>;

/** Inputs whose value JavaScript knows: values that depend only on them are never sent to the device. */
const SCALARS = new Set<string>(["learning_rate", "step", "past_steps", CORRECTION_INPUTS.mu]);
const isScalar = ({ name }: NamedTensor): boolean => SCALARS.has(name);

/** Rewrites the graph with fewer, larger ops, as far as the current backend supports them. */
function optimize({ inputs, outputs }: Signature, { topology, weightSpecs, weights }: GraphFiles) {
  const scalars = inputs.filter(isScalar).map((input) => input.tensor);
  const scalarized = scalarize(topology.node, scalars, shortConstants(weightSpecs, weights));
  const { nodes, programs } = fuse(scalarized.nodes, {
    outputs: outputs.map((output) => output.tensor),
    scalars,
    constants: scalarized.constants,
    device: fusingDevice(),
  });
  const { renamed, dispose } = install(nodes, programs);
  return { topology: { ...topology, node: renamed }, dispose };
}

/** A loaded graph. Owns its constants, which are on the backend that was current when it was loaded. */
export class Graph {
  /** Called with the values of each run while it is set. */
  observer: GraphObserver | null = null;
  readonly #runs: RepeatedRuns;

  private constructor(
    readonly model: GraphModel,
    /** As the executor has them: some nodes are fused. */
    readonly nodes: readonly NodeDef[],
    private readonly signature: Signature,
    private readonly disposePrograms: () => void,
  ) {
    const names = signature.outputs.map((output) => output.tensor);
    this.#runs = new RepeatedRuns((feed) => execute(model, feed, names));
  }

  /** Throws an Error with the reason if a bundle must not contain the graph. */
  static async load(signature: Signature, files: GraphFiles): Promise<Graph> {
    const { weightSpecs, weights } = files;
    validateGraph(files.topology, new Set(weightSpecs.map(({ name }) => name)));
    const { topology, dispose } = optimize(signature, files);
    const model = await loadGraphModel({
      load: async () => ({ modelTopology: topology, weightSpecs, weightData: weights }),
    });
    pinConstants(model);
    return new Graph(model, topology.node, signature, dispose);
  }

  /** Whether runs repeat a recording. */
  get isRecorded(): boolean {
    return this.#runs.isRecorded;
  }

  /** Runs the graph once. The caller owns inputs and outputs. */
  run(inputs: Tensors): Record<string, Tensor> {
    const feed: NamedTensorMap = {};
    for (const { name, tensor } of this.signature.inputs) {
      const value = inputs[name];
      if (value === undefined)
        throw new Error(`The graph needs the input ${name}, which this page does not know.`);
      feed[tensor] = value;
    }
    const names = this.signature.outputs.map((output) => output.tensor);
    const { model, observer } = this;
    const list = observer ? executeObserved(model, feed, names, observer) : this.#runs.run(feed);
    return Object.fromEntries(this.signature.outputs.map(({ name }, i) => [name, list[i] as Tensor]));
  }

  dispose(): void {
    this.#runs.dispose();
    this.model.dispose();
    this.disposePrograms();
  }
}
