/** Writes groups of nodes as programs. */

import { ARITHMETIC, COPIES } from "./arithmetic";
import { type ClusterGraph, type Device, resultType } from "./clusters";
import {
  dataInputs,
  dtypeOf,
  isFirstOutput,
  type NodeDef,
  reachable,
  shapeOf,
  sourceOf,
  topologicalOrder,
} from "./nodes";
import type { Program, ProgramOperand, ProgramStep } from "./program";

export interface Wishes {
  /** Tensors that the graph hands out, as node names, perhaps with `:k`. */
  readonly outputs: readonly string[];
  /** Placeholders with one element, whose value is known to JavaScript. */
  readonly scalars: readonly string[];
  /** Values of constants with one element. */
  readonly constants: ReadonlyMap<string, number>;
  /** What runs fused ops; if null, only nodes that depend on scalars alone are rewritten. */
  readonly device: Device | null;
}

/** Nodes that JavaScript can compute from scalars and constants. Constants alone count as known, not as computed. */
function hostNodes(nodes: readonly NodeDef[], wishes: Wishes): Set<string> {
  const names = new Set([...wishes.scalars, ...wishes.constants.keys()]);
  for (const node of nodes) {
    const inputs = dataInputs(node);
    const computes = ARITHMETIC[node.op]?.host !== undefined && dtypeOf(node, "T") !== "int32";
    const copies = ["Identity", "StopGradient"].includes(node.op);
    if (!(computes || copies) || inputs.length === 0) continue;
    if (inputs.every((input) => isFirstOutput(input) && names.has(sourceOf(input)))) names.add(node.name);
  }
  return names;
}

/** Writes one cluster as a program. */
export class GraphWriter {
  readonly inputs: string[] = [];
  readonly scalars: string[] = [];
  readonly #steps: ProgramStep[] = [];
  readonly #done = new Map<string, ProgramOperand>();

  constructor(
    private readonly graph: ClusterGraph,
    private readonly members: ReadonlySet<string>,
    private readonly wishes: Wishes,
  ) {}

  program(root: NodeDef): Program {
    const result = this.#operand(root.name);
    return {
      inputs: this.inputs.length,
      scalars: this.scalars.length,
      steps: this.#steps,
      result,
      shape: shapeOf(root) ?? [],
      dtype: resultType(root) === "bool" ? "bool" : "float32",
    };
  }

  #operand(input: string): ProgramOperand {
    const written = this.#done.get(input);
    if (written !== undefined) return written;
    const operand = this.#write(input);
    this.#done.set(input, operand);
    return operand;
  }

  #write(input: string): ProgramOperand {
    const name = sourceOf(input);
    const value = this.wishes.constants.get(name);
    if (value !== undefined) return { from: "constant", value };
    if (this.wishes.scalars.includes(name)) {
      return { from: "scalar", index: this.scalars.push(name) - 1 };
    }
    const node = this.graph.byName.get(name);
    if (node === undefined || !(this.members.has(name) || this.graph.host.has(name))) {
      return { from: "input", index: this.inputs.push(input) - 1 };
    }
    const [first = ""] = dataInputs(node);
    if (COPIES.has(node.op)) return this.#operand(first);
    const operands = dataInputs(node).map((part) => this.#operand(part));
    const step: ProgramStep = {
      op: node.op,
      operands,
      alpha: node.attr?.alpha?.f ?? 0.2,
      host: this.graph.host.has(name),
    };
    return { from: "step", index: this.#steps.push(step) - 1 };
  }
}

/** The nodes that the outputs need, with what is known about them. */
export function graphOf(nodes: readonly NodeDef[], wishes: Wishes): ClusterGraph {
  const outputs = new Set(wishes.outputs.map(sourceOf));
  const order = topologicalOrder(reachable(nodes, outputs));
  return {
    nodes: order,
    byName: new Map(order.map((node) => [node.name, node])),
    outputs,
    host: hostNodes(order, wishes),
    device: wishes.device,
  };
}
