/**
 * Rewrites a step to separate variables instead of the flat vector. Splitting the vector into variables and joining
 * gradients moves every value several times per step, which on GPUs costs more than the optimizer itself.
 */

import { type Cluster, findClusters } from "./clusters";
import { dataInputs, isFirstOutput, type NodeDef, shapeOf, sourceOf } from "./nodes";
import type { Program } from "./program";
import { GraphWriter, graphOf, type Wishes } from "./writer";

type Shape = readonly number[];

const same = (a: Shape | undefined, b: Shape | undefined): boolean =>
  a !== undefined && b !== undefined && String(a) === String(b);

export const partName = (name: string, index: number): string => `${name}_part_${index}`;

function placeholder(name: string, shape: Shape): NodeDef {
  const dim = shape.map((size) => ({ size }));
  return { name, op: "Placeholder", attr: { dtype: { type: "DT_FLOAT" }, shape: { shape: { dim } } } };
}

const outputIndex = (input: string): number => Number(/:(\d+)$/.exec(input)?.[1] ?? 0);

/** Returns `node` with the inputs that `replace` has replaced. */
function rewired(node: NodeDef, replace: ReadonlyMap<string, string>): NodeDef {
  const input = (node.input ?? []).map((name) => replace.get(name) ?? name);
  return { ...node, input };
}

/** Returns the node of an output's name, behind identities. */
function behindIdentities(name: string, byName: ReadonlyMap<string, NodeDef>): NodeDef | undefined {
  let node = byName.get(sourceOf(name));
  while (node?.op === "Identity") node = byName.get(sourceOf(dataInputs(node)[0] ?? ""));
  return node;
}

export interface SplitTrain {
  /** Variable k is fed as `partName("trainable", k)`. */
  readonly nodes: readonly NodeDef[];
  /** Tensor of each variable's gradient, perhaps still flat. */
  readonly gradients: readonly string[];
}

/** The graph `train` with variables of `shapes` as inputs, and their gradients; null if it is built otherwise. */
export function splitTrain(
  nodes: readonly NodeDef[],
  vector: { readonly trainable: string; readonly gradient: string },
  shapes: readonly Shape[],
): SplitTrain | null {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const users = (name: string) => nodes.filter((node) => dataInputs(node).some((i) => sourceOf(i) === name));
  const [split, ...others] = users(vector.trainable);
  const joined = behindIdentities(vector.gradient, byName);
  if (split?.op !== "SplitV" || others.length > 0 || joined?.op !== "ConcatV2") return null;
  const parts = dataInputs(joined).slice(0, -1);
  if (parts.length !== shapes.length) return null;

  const replace = new Map<string, string>();
  for (const user of users(split.name)) {
    for (const input of dataInputs(user).filter((name) => sourceOf(name) === split.name)) {
      const index = outputIndex(input);
      const shape = shapes[index] as Shape;
      replace.set(input, partName("trainable", index));
      if (user.op === "Reshape" && same(shapeOf(user), shape)) {
        replace.set(user.name, partName("trainable", index));
      } else if (user.op !== "Reshape" && shape.length !== 1) return null;
    }
  }
  const gradients = parts.map((part, index) => {
    const node = byName.get(sourceOf(part));
    const [inner = part] = node?.op === "Reshape" ? dataInputs(node) : [];
    const source = byName.get(sourceOf(inner));
    return isFirstOutput(inner) && source && same(shapeOf(source), shapes[index]) ? inner : part;
  });
  const computed = gradients.every((name) => {
    const op = byName.get(sourceOf(name))?.op;
    return op !== undefined && op !== "Placeholder" && op !== "Const" && !replace.has(name);
  });
  if (!computed || new Set(gradients).size < gradients.length) return null;
  const gone = new Set([vector.trainable, split.name]);
  return {
    nodes: [
      ...shapes.map((shape, index) => placeholder(partName("trainable", index), shape)),
      ...nodes.filter(({ name }) => !gone.has(name)).map((node) => rewired(node, replace)),
    ],
    gradients,
  };
}

export interface OptimizerStage {
  readonly program: Program;
  /** Names of the tensors it takes: `trainable`, `gradient`, slots, or earlier stages. */
  readonly inputs: readonly string[];
  readonly scalars: readonly string[];
  readonly name: string;
}

/** The optimizer as programs that work alike on a variable of any shape. */
export interface ApplyPlan {
  readonly stages: readonly OptimizerStage[];
  readonly trainable: string;
  readonly slots: readonly string[];
}

/** What the nodes read instead of rows of `slots`; null if a node takes it otherwise. */
function slotRows(nodes: readonly NodeDef[], slots: number, shape: Shape): Map<string, string> | null {
  const replace = new Map<string, string>();
  for (const node of nodes.filter((candidate) => dataInputs(candidate)[0] === "slots")) {
    if (node.op === "Unpack") {
      for (let k = 0; k < slots; k++) replace.set(`${node.name}:${k}`, partName("slots", k));
      replace.set(node.name, partName("slots", 0));
    } else if (slots === 1 && same(shapeOf(node), shape)) {
      replace.set(node.name, partName("slots", 0));
    } else return null;
  }
  return replace;
}

/** Names of the rows of `new_slots`. */
function newSlotRows(byName: ReadonlyMap<string, NodeDef>, slots: number): string[] | null {
  if (slots === 0) return [];
  const node = behindIdentities("new_slots", byName);
  if (node === undefined) return null;
  const inputs = dataInputs(node);
  if (node.op === "Pack" && inputs.length === slots) return inputs;
  return slots === 1 && ["Reshape", "ExpandDims"].includes(node.op) ? inputs.slice(0, 1) : null;
}

/**
 * Rewrites the graph `apply` as programs; null if it does more than treat each value separately, as clipping by a
 * norm does. `wishes.outputs` are not read; `corrections` are further inputs of the vector's shape.
 */
export function splitApply(
  nodes: readonly NodeDef[],
  wishes: Wishes,
  size: number,
  slots: number,
  corrections: readonly string[] = [],
): ApplyPlan | null {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const replace = slotRows(nodes, slots, [size]);
  const rows = newSlotRows(byName, slots)?.map((name) => replace?.get(name) ?? name);
  if (replace === null || rows === undefined) return null;
  const given = ["trainable", "gradient", ...corrections, ...rows.map((_, k) => partName("slots", k))];
  const names = new Set(given);
  if (rows.some((name) => names.has(name))) return null;
  const rewritten = [
    ...rows.map((_, k) => placeholder(partName("slots", k), [size])),
    ...nodes.filter(({ name }) => !replace.has(name)).map((node) => rewired(node, replace)),
  ];
  const graph = graphOf(rewritten, { ...wishes, outputs: ["new_trainable", ...rows] });
  const clusters = new Map(findClusters(graph).map((cluster) => [cluster.root.name, cluster]));
  const needed = stagesFor(["new_trainable", ...rows], clusters, names, (cluster) => {
    const writer = new GraphWriter(graph, cluster.members, wishes);
    const program = writer.program(cluster.root);
    if (!same(program.shape, [size])) return null;
    return { program, inputs: writer.inputs, scalars: writer.scalars, name: cluster.root.name };
  });
  return needed && { stages: needed, trainable: "new_trainable", slots: rows };
}

/** Returns stages ordered by their inputs; null if an input is computed by no stage. */
function stagesFor(
  requested: readonly string[],
  clusters: ReadonlyMap<string, Cluster>,
  given: ReadonlySet<string>,
  write: (cluster: Cluster) => OptimizerStage | null,
): OptimizerStage[] | null {
  const stages: OptimizerStage[] = [];
  const done = new Set(given);
  const add = (name: string): boolean => {
    if (done.has(name)) return true;
    const cluster = clusters.get(name);
    const stage = cluster && write(cluster);
    if (!stage?.inputs.every(add)) return false;
    done.add(name);
    stages.push(stage);
    return true;
  };
  return requested.every(add) ? stages : null;
}
