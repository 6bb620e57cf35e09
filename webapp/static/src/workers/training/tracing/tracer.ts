/** Traces a training: hashes the values after its steps and the outputs of its ops. */

import type { NamedTensorMap, Tensor } from "@tensorflow/tfjs-core";
import type {
  StateHashes,
  Trace,
  TracedTensor,
  TracedValue,
  TraceRequest,
} from "../../../core/messages/tracing";
import { dataInputs, type NodeDef, sourceOf } from "../../../engine/fusion/nodes";
import type { Graph } from "../../../engine/graph";
import type { GraphRun } from "../../../engine/graph-observer";
import type { TrainingStep } from "../step";
import type { Variables } from "../variables";
import { hashOf, readValue } from "./tensor-hash";

type GraphName = "train" | "apply";

/** One step whose ops are observed: its tensors in the order in which they are computed. */
class StepObservation {
  readonly tensors: TracedTensor[] = [];
  readonly values: TracedValue[] = [];
  /** Names of tensors that pass from the variables to a graph, or from one graph to the other. */
  readonly #names = new Map<number, string>();

  constructor(variables: Variables) {
    for (const [name, value] of Object.entries(variables) as [string, Tensor][]) {
      this.#names.set(value.id, `start/${name}`);
      this.values.push(readValue(`start/${name}`, value));
    }
  }

  nameOf(tensor: Tensor): string {
    return this.#names.get(tensor.id) as string;
  }

  observe(graph: GraphName, nodes: readonly NodeDef[], { feed, outputs, values }: GraphRun): void {
    const named = this.#addInputs(graph, feed);
    const byName = new Map(nodes.map((node) => [node.name, node]));
    for (const [name, tensors] of Object.entries(values)) {
      const node = byName.get(name);
      if (node === undefined || node.op === "Const" || named.has(name)) continue;
      const inputs = dataInputs(node)
        .filter((input) => byName.get(sourceOf(input))?.op !== "Const")
        .map((input) => named.get(sourceOf(input)) ?? tensorName(graph, input));
      tensors.forEach((value, index) => {
        if (value) this.#add({ tensor: tensorName(graph, `${name}:${index}`), op: node.op, inputs }, value);
      });
    }
    for (const [name, tensor] of Object.entries(outputs)) this.#names.set(tensor.id, tensorName(graph, name));
  }

  /** Returns the traced names of the graph's inputs; one that nothing computed before is a tensor itself. */
  #addInputs(graph: GraphName, feed: NamedTensorMap): Map<string, string> {
    const named = new Map<string, string>();
    for (const [name, value] of Object.entries(feed)) {
      const tensor = this.#names.get(value.id) ?? tensorName(graph, name);
      named.set(sourceOf(name), tensor);
      if (!this.#names.has(value.id)) this.#add({ tensor, op: "Placeholder", inputs: [] }, value);
    }
    return named;
  }

  #add(traced: TracedTensor, value: Tensor): void {
    this.tensors.push(traced);
    this.values.push(readValue(traced.tensor, value));
  }
}

function tensorName(graph: GraphName, name: string): string {
  return `${graph}/${name.replace(/:0$/, "")}`;
}

/** Owns the observers of the step's graphs until `close`. */
export class Tracer {
  readonly #states: { step: number; hashes: StateHashes }[] = [];
  readonly #ops: { step: number; hashes: string }[] = [];
  readonly #graphs: readonly (readonly [GraphName, Graph])[];
  readonly #statesOf: ReadonlySet<number>;
  readonly #opsOf: ReadonlySet<number>;
  #tensors: readonly TracedTensor[] = [];
  #ends: Readonly<Record<string, string>> = {};
  #inputs: readonly TracedValue[] = [];
  #current: StepObservation | null = null;

  /** Throws an Error for people if the step cannot be traced. */
  constructor(
    step: TrainingStep,
    private readonly request: TraceRequest,
  ) {
    const { train, apply } = step.traceable;
    this.#graphs = [
      ["train", train],
      ["apply", apply],
    ];
    this.#statesOf = new Set(request.states);
    this.#opsOf = new Set([...request.ops, ...(request.inputs ? [request.inputs.step] : [])]);
  }

  /** Call it before the step of this number, with the values that it begins with. */
  begin(number: number, variables: Variables): void {
    if (!this.#opsOf.has(number)) return;
    const current = new StepObservation(variables);
    this.#current = current;
    this.#graphs.forEach(([name, graph]) => {
      graph.observer = (run) => current.observe(name, graph.nodes, run);
    });
  }

  /** Call it after the step, with the values that it ended with. */
  async end(number: number, variables: Variables): Promise<void> {
    if (this.#current !== null) await this.#endObserved(number, this.#current, variables);
    this.#current = null;
    if (!this.#statesOf.has(number)) return;
    const values = Object.entries(variables).map(([name, value]) => readValue(name, value as Tensor));
    const hashes = await Promise.all(values.map(async (value) => [value.tensor, await hashOf(value)]));
    this.#states.push({ step: number, hashes: Object.fromEntries(hashes) });
  }

  async #endObserved(number: number, current: StepObservation, variables: Variables): Promise<void> {
    this.close();
    this.#tensors = current.tensors;
    const ends = Object.entries(variables).map(([name, value]) => [name, current.nameOf(value as Tensor)]);
    this.#ends = Object.fromEntries(ends);
    const values = new Map(current.values.map((value) => [value.tensor, value]));
    const hashes = current.tensors.map(({ tensor }) => hashOf(values.get(tensor) as TracedValue));
    this.#ops.push({ step: number, hashes: (await Promise.all(hashes)).join("") });
    const { inputs } = this.request;
    if (inputs?.step === number) {
      const node = current.tensors.find(({ tensor }) => tensor === inputs.tensor);
      if (node === undefined) throw new Error(`The step has no op ${inputs.tensor}.`);
      const wanted = node.inputs.length > 0 ? node.inputs : [node.tensor];
      this.#inputs = wanted.map((tensor) => values.get(tensor) as TracedValue);
    }
  }

  trace(): Trace {
    return {
      tensors: this.#tensors,
      ends: this.#ends,
      states: this.#states,
      ops: this.#ops,
      inputs: this.#inputs,
    };
  }

  /** Ends the observation, also of a step that failed. */
  close(): void {
    for (const [, graph] of this.#graphs) graph.observer = null;
  }
}
