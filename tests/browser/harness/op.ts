/** Single ops as graphs on one backend. */

import { tensor } from "@tensorflow/tfjs-core";
import type { Backend } from "../../../webapp/static/src/shared/worker-messages";
import { Graph } from "../../../webapp/static/src/worker/graph";
import { prepare } from "./files";

interface EncodedArray {
  readonly dtype: "float32" | "int32" | "bool";
  readonly shape: number[];
  readonly data: string;
}

interface Case {
  readonly topology: object;
  readonly constants: readonly (EncodedArray & { readonly name: string })[];
  readonly inputs: Readonly<Record<string, EncodedArray>>;
  readonly outputs: readonly string[];
}

function bytes(data: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
}

function toTensor({ dtype, shape, data }: EncodedArray) {
  const raw = bytes(data);
  const values = {
    float32: () => new Float32Array(raw.buffer),
    int32: () => new Int32Array(raw.buffer),
    bool: () => raw,
  };
  return tensor(values[dtype](), shape, dtype);
}

async function run({ topology, constants, inputs, outputs }: Case) {
  const named = (name: string) => ({ name, tensor: name, shape: [], dtype: "float32" as const });
  const signature = { inputs: Object.keys(inputs).map(named), outputs: outputs.map(named) };
  const graph = await Graph.load(signature, {
    topology,
    weightSpecs: constants.map(({ name, shape, dtype }) => ({ name, shape, dtype })),
    weights: constants.map(({ data }) => bytes(data).buffer),
  });
  const feeds = Object.fromEntries(Object.entries(inputs).map(([name, array]) => [name, toTensor(array)]));
  const results = graph.run(feeds);
  return Promise.all(
    outputs.map(async (name) => ({
      shape: results[name]?.shape,
      dtype: results[name]?.dtype,
      values: Array.from((await results[name]?.data()) ?? []),
    })),
  );
}

/** Outputs of each case, or the sentence of what went wrong. */
export async function runOps({ cases, backend }: { cases: readonly Case[]; backend: Backend }) {
  await prepare(backend);
  const answers: unknown[] = [];
  for (const item of cases) {
    answers.push(await run(item).catch((error: unknown) => String(error)));
  }
  return answers;
}
