/** A graph's nodes as TF.js reads them: TensorFlow's GraphDef in JSON. */

import type { io } from "@tensorflow/tfjs-core";

interface ShapeJson {
  readonly dim?: readonly { readonly size?: string | number }[];
}

export interface Attribute {
  readonly i?: string | number;
  readonly f?: number;
  readonly type?: string;
  readonly shape?: ShapeJson;
  readonly list?: { readonly shape?: readonly ShapeJson[] };
}

export interface NodeDef {
  readonly name: string;
  readonly op: string;
  readonly input?: readonly string[];
  readonly attr?: Readonly<Record<string, Attribute>>;
}

export interface GraphTopology {
  readonly node: readonly NodeDef[];
}

export type NodeDtype = "float32" | "int32" | "bool";

const DTYPES: Readonly<Record<string, NodeDtype>> = {
  DT_FLOAT: "float32",
  DT_INT32: "int32",
  // TF.js has no wider integers.
  DT_INT64: "int32",
  DT_BOOL: "bool",
};

/** Element type named by an attribute; undefined for types that TF.js does not have. */
export function dtypeOf(node: NodeDef, attribute: string): NodeDtype | undefined {
  return DTYPES[node.attr?.[attribute]?.type ?? ""];
}

/** Data inputs: names of nodes, with `:k` for their output k; control inputs carry no data. */
export function dataInputs(node: NodeDef): string[] {
  return (node.input ?? []).filter((name) => !name.startsWith("^"));
}

/** The node that an input comes from. */
export function sourceOf(input: string): string {
  return input.replace(/^\^/, "").replace(/:\d+$/, "");
}

/** Whether the input is its node's first output. */
export function isFirstOutput(input: string): boolean {
  return !/:[1-9]\d*$/.test(input);
}

/** Static shape of output 0, as the converter wrote it down; undefined if it did not. */
export function shapeOf(node: NodeDef): number[] | undefined {
  const written = node.attr?._output_shapes?.list?.shape?.[0] ?? node.attr?.shape?.shape;
  if (written === undefined) return undefined;
  const shape = (written.dim ?? []).map(({ size }) => Number(size));
  return shape.every((length) => length >= 0) ? shape : undefined;
}

/** Nodes in an order in which each comes after its inputs. */
export function topologicalOrder(nodes: readonly NodeDef[]): NodeDef[] {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const done = new Set<string>();
  const order: NodeDef[] = [];
  const stack = nodes.map((node) => ({ node, entered: false }));
  while (stack.length > 0) {
    const { node, entered } = stack.pop() as { node: NodeDef; entered: boolean };
    if (done.has(node.name)) continue;
    if (entered) {
      done.add(node.name);
      order.push(node);
      continue;
    }
    stack.push({ node, entered: true });
    for (const input of node.input ?? []) {
      const source = byName.get(sourceOf(input));
      if (source !== undefined && !done.has(source.name)) stack.push({ node: source, entered: false });
    }
  }
  return order;
}

/** Nodes that the outputs need; placeholders stay, because callers feed them. */
export function reachable(nodes: readonly NodeDef[], outputs: ReadonlySet<string>): NodeDef[] {
  const needed = new Set(outputs);
  for (const node of [...topologicalOrder(nodes)].reverse()) {
    if (needed.has(node.name)) for (const input of node.input ?? []) needed.add(sourceOf(input));
  }
  return nodes.filter(({ name, op }) => needed.has(name) || op === "Placeholder");
}

/** Longest constant whose values matter here. */
const MAX_SHORT = 16;
const BYTES: Readonly<Record<string, number>> = { float32: 4, int32: 4, bool: 1 };

/** Values of the graph's short float constants, by name. */
export function shortConstants(
  specs: readonly io.WeightsManifestEntry[],
  weights: readonly ArrayBuffer[],
): Map<string, number[]> {
  const values = new Map<string, number[]>();
  const bytes = new Uint8Array(weights.reduce((sum, part) => sum + part.byteLength, 0));
  let end = 0;
  for (const part of weights) {
    bytes.set(new Uint8Array(part), end);
    end += part.byteLength;
  }
  const view = new DataView(bytes.buffer);
  let offset = 0;
  for (const { name, shape, dtype } of specs) {
    const size = shape.reduce((product, length) => product * length, 1);
    if (size <= MAX_SHORT && dtype === "float32") {
      const start = offset;
      values.set(
        name,
        Array.from({ length: size }, (_, i) => view.getFloat32(start + 4 * i, true)),
      );
    }
    offset += size * (BYTES[dtype] ?? 0);
  }
  return values;
}
