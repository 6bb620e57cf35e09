/** Finds the groups of elementwise nodes that become one op each. */

import { ARITHMETIC, COPIES } from "./arithmetic";
import { KERNEL_FORMS } from "./kernel-forms";
import { dataInputs, dtypeOf, isFirstOutput, type NodeDef, type NodeDtype, shapeOf, sourceOf } from "./nodes";

/** A shader may read eight buffers in WebGPU's guaranteed limits; one of them is written. */
const MAX_INPUTS = 7;
const MAX_MEMBERS = 64;
/** The samplers of TF.js' WebGL backend know no more axes. */
const MAX_RANK = 4;

/** What runs fused ops: shaders that are generated, or the compiled WASM kernels. */
export type Device = "shaders" | "kernels";

export interface Cluster {
  readonly root: NodeDef;
  /** Names of its nodes, the root's included. */
  readonly members: Set<string>;
}

export interface ClusterGraph {
  /** In topological order. */
  readonly nodes: readonly NodeDef[];
  readonly byName: ReadonlyMap<string, NodeDef>;
  /** Names of nodes whose tensors the graph must hand out. */
  readonly outputs: ReadonlySet<string>;
  /** Nodes with one element that JavaScript can compute. */
  readonly host: ReadonlySet<string>;
  readonly device: Device | null;
}

const size = (shape: readonly number[]): number => shape.reduce((product, length) => product * length, 1);

/** `shape` without its leading axes of length one. */
function withoutLeadingOnes(shape: readonly number[]): readonly number[] {
  const first = shape.findIndex((length) => length !== 1);
  return first < 0 ? [] : shape.slice(first);
}

/** Whether a value of shape `inner` can be read at each place of `outer`, aligned at the last axis. */
export function broadcasts(inner: readonly number[], outer: readonly number[]): boolean {
  const small = withoutLeadingOnes(inner);
  if (small.length > outer.length) return false;
  return small.every((length, i) => length === 1 || length === outer[outer.length - small.length + i]);
}

/** Element type of a node's first output. */
export function resultType(node: NodeDef): NodeDtype | undefined {
  if (ARITHMETIC[node.op]?.truth === true) return "bool";
  return dtypeOf(node, node.op === "Cast" ? "DstT" : "T");
}

function isCopy(node: NodeDef, graph: ClusterGraph): boolean {
  const [from, to] = [inputShape(node, 0, graph), shapeOf(node)];
  if (from === undefined || to === undefined) return false;
  switch (node.op) {
    case "Cast": {
      const [source, target] = [dtypeOf(node, "SrcT"), dtypeOf(node, "DstT")];
      return source !== undefined && (target === "float32" || (target === "bool" && source === "bool"));
    }
    case "Tile":
      return from.length === to.length && broadcasts(from, to);
    case "Reshape":
    case "Squeeze":
    case "ExpandDims":
      return String(withoutLeadingOnes(from)) === String(withoutLeadingOnes(to));
    default:
      return COPIES.has(node.op);
  }
}

function inputShape(node: NodeDef, index: number, graph: ClusterGraph): number[] | undefined {
  const input = dataInputs(node)[index];
  if (input === undefined || !isFirstOutput(input)) return undefined;
  const source = graph.byName.get(sourceOf(input));
  return source === undefined ? undefined : shapeOf(source);
}

/** Whether the copy's elements are floats for the device: shaders take truth values and whole numbers for such. */
function copiesFloats(node: NodeDef, { device }: ClusterGraph): boolean {
  if (device === "shaders") return resultType(node) !== "int32";
  return resultType(node) === "float32" && (node.op !== "Cast" || dtypeOf(node, "SrcT") === "float32");
}

/** Whether the device can compute the node. */
function isElementwise(node: NodeDef, graph: ClusterGraph): boolean {
  const shape = shapeOf(node);
  if (shape === undefined || shape.length > MAX_RANK || size(shape) === 0) return false;
  if (COPIES.has(node.op)) return copiesFloats(node, graph) && isCopy(node, graph);
  if (graph.device === "kernels")
    return KERNEL_FORMS[node.op] !== undefined && dtypeOf(node, "T") === "float32";
  if (ARITHMETIC[node.op]?.device === undefined) return false;
  // A sum of many terms binds too many buffers for one program; the op layer adds them in portions.
  if (externalInputs([node], new Set([node.name]), graph).size > MAX_INPUTS) return false;
  const type = dtypeOf(node, "T");
  return type === "float32" || (type === undefined && node.op.startsWith("Logical"));
}

/** Data inputs of a set of nodes that none of them computes. */
function externalInputs(
  members: Iterable<NodeDef>,
  inside: ReadonlySet<string>,
  graph: ClusterGraph,
): Set<string> {
  const external = new Set<string>();
  for (const node of members) {
    const inputs = dataInputs(node);
    for (const input of COPIES.has(node.op) ? inputs.slice(0, 1) : inputs) {
      const source = sourceOf(input);
      if (!inside.has(source) && !graph.host.has(source)) external.add(input);
    }
  }
  return external;
}

const membersOf = (cluster: Cluster, graph: ClusterGraph): NodeDef[] =>
  [...cluster.members].map((name) => graph.byName.get(name) as NodeDef);

function fits(node: NodeDef, cluster: Cluster, graph: ClusterGraph): boolean {
  if (cluster.members.size >= MAX_MEMBERS) return false;
  const [inner, outer] = [shapeOf(node) as number[], shapeOf(cluster.root) as number[]];
  if (!broadcasts(inner, outer)) return false;
  const before = membersOf(cluster, graph);
  const now = externalInputs([...before, node], new Set([...cluster.members, node.name]), graph).size;
  if (now > MAX_INPUTS) return false;
  // A small value is better computed once than from more inputs at every place.
  return size(inner) === size(outer) || now <= externalInputs(before, cluster.members, graph).size;
}

/** Views cost nothing on their own, so they never end a group. */
const VIEWS = new Set(["Reshape", "Squeeze", "ExpandDims"]);

/** Whether fusing is faster: a lone copy is free, or as fast in the backend's own way. */
function isWorthIt(cluster: Cluster, graph: ClusterGraph): boolean {
  return membersOf(cluster, graph).some(({ op }) => !COPIES.has(op) || op === "Tile" || op === "BroadcastTo");
}

/** Groups of nodes whose values only their own root needs. Every node is in one group at most. */
export function findClusters(graph: ClusterGraph): Cluster[] {
  const users = new Map<string, string[]>();
  for (const node of graph.nodes) {
    for (const input of node.input ?? []) {
      const source = sourceOf(input);
      users.set(source, [...(users.get(source) ?? []), node.name]);
    }
  }
  const home = new Map<string, Cluster>();
  const clusters: Cluster[] = [];
  for (const node of [...graph.nodes].reverse()) {
    if (graph.host.has(node.name) || !isElementwise(node, graph)) continue;
    const owners = new Set((users.get(node.name) ?? []).map((name) => home.get(name)));
    const [owner] = owners;
    if (
      owners.size === 1 &&
      owner !== undefined &&
      !graph.outputs.has(node.name) &&
      fits(node, owner, graph)
    ) {
      owner.members.add(node.name);
      home.set(node.name, owner);
      continue;
    }
    if (VIEWS.has(node.op)) continue;
    const cluster: Cluster = { root: node, members: new Set([node.name]) };
    home.set(node.name, cluster);
    clusters.push(cluster);
  }
  return clusters.filter((cluster) => isWorthIt(cluster, graph));
}
