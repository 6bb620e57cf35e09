/** Rewrites a graph before it is loaded: groups of elementwise nodes become one op each. */

import { type Cluster, type ClusterGraph, findClusters } from "./clusters";
import { dataInputs, type NodeDef, reachable, sourceOf } from "./nodes";
import type { Program } from "./program";
import { GraphWriter, graphOf, type Wishes } from "./writer";

/** The fused op. Its attribute `program` is an index into the programs; inputs: tensors, then scalars. */
export const ELEMENTWISE = "_MingaElementwise";

export interface Fused {
  readonly nodes: readonly NodeDef[];
  readonly programs: readonly Program[];
}

/** Groups of host nodes whose value some other node, or the caller, needs as a tensor. */
function hostClusters(graph: ClusterGraph, wishes: Wishes, inClusters: ReadonlySet<string>): Cluster[] {
  const needed = new Set<string>(graph.outputs);
  for (const node of graph.nodes) {
    if (graph.host.has(node.name) || inClusters.has(node.name)) continue;
    for (const input of dataInputs(node)) needed.add(sourceOf(input));
  }
  const given = (name: string) => wishes.constants.has(name) || wishes.scalars.includes(name);
  return graph.nodes
    .filter(({ name }) => graph.host.has(name) && needed.has(name) && !given(name))
    .map((root) => ({ root, members: new Set([root.name]) }));
}

/** The same graph with fewer nodes. Names of outputs and placeholders stay. */
export function fuse(nodes: readonly NodeDef[], wishes: Wishes): Fused {
  const graph = graphOf(nodes, wishes);
  const deviceClusters = wishes.device === null ? [] : findClusters(graph);
  const clusters = [
    ...deviceClusters,
    ...hostClusters(graph, wishes, new Set(deviceClusters.flatMap((c) => [...c.members]))),
  ];
  const programs: Program[] = [];
  const written = new Map<string, NodeDef | null>();
  for (const { root, members } of clusters) {
    const writer = new GraphWriter(graph, members, wishes);
    programs.push(writer.program(root));
    for (const name of members) written.set(name, null);
    written.set(root.name, {
      name: root.name,
      op: ELEMENTWISE,
      input: [...writer.inputs, ...writer.scalars],
      attr: { program: { i: programs.length - 1 } },
    });
  }
  const rewritten = nodes.flatMap((node) => {
    const replacement = written.get(node.name);
    if (replacement === undefined) return [node];
    return replacement === null ? [] : [replacement];
  });
  return { nodes: reachable(rewritten, graph.outputs), programs };
}
