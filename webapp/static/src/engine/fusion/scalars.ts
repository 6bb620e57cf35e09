/**
 * Replaces short vectors by scalars, which JavaScript can compute: optimizers compute a few numbers from the step
 * (bias corrections, schedules), sometimes several in a short vector.
 */

import { ARITHMETIC } from "./arithmetic";
import {
  dataInputs,
  dtypeOf,
  isFirstOutput,
  type NodeDef,
  shapeOf,
  sourceOf,
  topologicalOrder,
} from "./nodes";

/** Longer vectors stay on the device. */
const MAX_LENGTH = 16;

const elementName = (name: string, index: number): string => `${name}/element_${index}`;

function element(node: NodeDef, index: number, vectors: ReadonlyMap<string, number>): NodeDef {
  const input = dataInputs(node).map((name) =>
    vectors.has(sourceOf(name)) ? elementName(sourceOf(name), index) : name,
  );
  const attr = { ...node.attr, _output_shapes: { list: { shape: [{ dim: [] }] } } };
  return { name: elementName(node.name, index), op: node.op, input, attr };
}

export interface Scalarized {
  readonly nodes: readonly NodeDef[];
  /** Values of constants with one element, those cut out of vectors included. */
  readonly constants: ReadonlyMap<string, number>;
}

/** Adds the elements of short vectors that depend on `scalars` and constants alone, and unpacks those instead. */
export function scalarize(
  nodes: readonly NodeDef[],
  scalars: readonly string[],
  values: ReadonlyMap<string, readonly number[]>,
): Scalarized {
  const constants = new Map<string, number>();
  const scalarNames = new Set(scalars);
  /** Lengths of the short vectors. */
  const vectors = new Map<string, number>();
  const replace = new Map<string, string>();
  const added: NodeDef[] = [];
  for (const node of topologicalOrder(nodes)) {
    const { name } = node;
    const shape = shapeOf(node) ?? [];
    const constant = values.get(name);
    if (constant?.length === 1) constants.set(name, constant[0] as number);
    else if (constant !== undefined && shape.length === 1 && constant.length <= MAX_LENGTH) {
      vectors.set(name, constant.length);
      constant.forEach((value, i) => {
        constants.set(elementName(name, i), value);
        added.push({ name: elementName(name, i), op: "Const", attr: { dtype: { type: "DT_FLOAT" } } });
      });
    }
    const inputs = dataInputs(node);
    const isKnown = (input: string) =>
      isFirstOutput(input) &&
      (scalarNames.has(sourceOf(input)) || constants.has(input) || vectors.has(sourceOf(input)));
    if (inputs.length === 0 || !inputs.every(isKnown)) continue;
    const [first = ""] = inputs;
    if (node.op === "Unpack" && vectors.has(first)) {
      for (let i = 0; i < (vectors.get(first) ?? 0); i++) {
        replace.set(i === 0 ? name : `${name}:${i}`, elementName(first, i));
      }
    }
    if (ARITHMETIC[node.op]?.host === undefined || dtypeOf(node, "T") === "int32") continue;
    const [length] = shape;
    if (shape.length === 0) scalarNames.add(name);
    else if (shape.length === 1 && length !== undefined && length <= MAX_LENGTH) {
      vectors.set(name, length);
      for (let i = 0; i < length; i++) added.push(element(node, i, vectors));
    }
  }
  const rewired = nodes.map((node) => ({
    ...node,
    input: (node.input ?? []).map((input) => replace.get(input) ?? input),
  }));
  return { nodes: [...rewired, ...added], constants };
}
