/** Validates a graph before TF.js loads it: the ops of the allow-list, each input from another node, and no cycle. */

import table from "../../../../converter/ops.json?raw";

interface Node {
  readonly name: string;
  readonly op: string;
  readonly input?: readonly string[];
}

interface Topology {
  readonly node?: readonly Node[];
  readonly library?: { readonly function?: readonly unknown[] };
}

const ALLOWED: ReadonlySet<string> = new Set(Object.keys((JSON.parse(table) as { ops: object }).ops));

/** Returns the node that an edge comes from: edges are `name`, `name:output` or, for control inputs, `^name`. */
function sourceOf(edge: string): string {
  return edge.replace(/^\^/, "").replace(/:\d+$/, "");
}

/** Returns the nodes of a cycle. */
function circle(nodes: ReadonlyMap<string, Node>): string[] {
  const waiting = new Map<string, number>();
  const readers = new Map<string, string[]>();
  for (const { name, input = [] } of nodes.values()) {
    const sources = new Set(input.map(sourceOf));
    waiting.set(name, sources.size);
    for (const source of sources) readers.set(source, [...(readers.get(source) ?? []), name]);
  }
  const ready = [...waiting].flatMap(([name, count]) => (count === 0 ? [name] : []));
  for (let name = ready.pop(); name !== undefined; name = ready.pop()) {
    waiting.delete(name);
    for (const reader of readers.get(name) ?? []) {
      const left = (waiting.get(reader) ?? 0) - 1;
      waiting.set(reader, left);
      if (left === 0) ready.push(reader);
    }
  }
  return [...waiting.keys()];
}

/** Throws an Error with the reason if a bundle must not contain the graph `topology`. */
export function validateGraph(topology: object, constants: ReadonlySet<string>): void {
  const { node = [], library } = topology as Topology;
  const nodes = new Map(node.map((one) => [one.name, one]));
  const refuse = (reason: string): never => {
    throw new Error(
      `This page refuses the task's graph: ${reason}. Ask its owner to convert the model again.`,
    );
  };
  if (library?.function?.length) refuse("it calls functions, which no bundle may");
  if (nodes.size < node.length) refuse("two of its nodes have one name");
  for (const { name, op, input = [] } of node) {
    if (!ALLOWED.has(op)) refuse(`its node ${name} is the op ${op}, which is not on the list of pure ops`);
    if (op === "Const" && !constants.has(name)) refuse(`its constant ${name} has no value`);
    const lost = input.find((edge) => !nodes.has(sourceOf(edge)));
    if (lost !== undefined) refuse(`its node ${name} reads ${lost}, which does not exist`);
  }
  const [first] = circle(nodes);
  if (first !== undefined) refuse(`its node ${first} waits for its own result`);
}
