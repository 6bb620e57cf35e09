/** Single ops as graphs on one backend. */

import { env, memory, tensor } from "@tensorflow/tfjs-core";
import type { Backend } from "../../../../../webapp/static/src/core/backend";
import { failureOf } from "../../../../../webapp/static/src/engine/backend-health";
import { Graph, type GraphFiles } from "../../../../../webapp/static/src/engine/graph";
import { prepare } from "../files";

interface EncodedArray {
  readonly dtype: "float32" | "int32" | "bool";
  readonly shape: number[];
  readonly data: string;
}

interface Case {
  readonly topology: GraphFiles["topology"];
  readonly constants: readonly (EncodedArray & { readonly name: string })[];
  readonly inputs: Readonly<Record<string, EncodedArray>>;
  readonly outputs: readonly string[];
}

/** How WASM runs; the best way that works here if it is left out. */
interface WasmChoice {
  readonly simd: boolean;
  readonly threads: number;
}

interface Work {
  readonly cases: readonly Case[];
  readonly backend: Backend;
  readonly wasm: WasmChoice | null;
}

function decode(data: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
}

/** Some kernels of the CPU backend keep their values in arrays of another type than their dtype says. */
const ARRAYS: Readonly<Record<string, { from(values: ArrayLike<number>): ArrayBufferView }>> = {
  float32: Float32Array,
  int32: Int32Array,
  bool: Uint8Array,
};

function encode(values: ArrayLike<number>, dtype: string): string {
  const raw = new Uint8Array((ARRAYS[dtype] ?? Float32Array).from(values).buffer);
  let text = "";
  for (const byte of raw) text += String.fromCharCode(byte);
  return btoa(text);
}

/** One file: TF.js 4.22 confuses files when one of them is empty, as that of a constant without values is. */
function join(parts: readonly Uint8Array[]): ArrayBuffer {
  const whole = new Uint8Array(parts.reduce((bytes, part) => bytes + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole.buffer;
}

function toTensor({ dtype, shape, data }: EncodedArray) {
  const raw = decode(data);
  const values = {
    float32: () => new Float32Array(raw.buffer),
    int32: () => new Int32Array(raw.buffer),
    bool: () => raw,
  };
  return tensor(values[dtype](), shape, dtype);
}

async function run({ topology, constants, inputs, outputs }: Case) {
  const named = (name: string) => ({ name, tensor: name, shape: [], dtype: "float32" as const });
  const signature = {
    inputs: Object.keys(inputs).map(named),
    outputs: outputs.map(named),
  };
  const graph = await Graph.load(signature, {
    topology,
    weightSpecs: constants.map(({ name, shape, dtype }) => ({ name, shape, dtype })),
    weights: [join(constants.map(({ data }) => decode(data)))],
  });
  const feeds = Object.fromEntries(Object.entries(inputs).map(([name, array]) => [name, toTensor(array)]));
  try {
    const results = graph.run(feeds);
    for (const [name, feed] of Object.entries(feeds)) {
      if (outputs.some((output) => results[output] === feed))
        throw new Error(`Its result is its input ${name}.`);
    }
    return await Promise.all(
      outputs.map(async (name) => {
        const result = results[name];
        if (result === undefined) throw new Error(`The graph has no output ${name}.`);
        const data = encode(await result.data(), result.dtype);
        result.dispose();
        return { shape: result.shape, dtype: result.dtype, data };
      }),
    );
  } finally {
    for (const feed of Object.values(feeds)) feed.dispose();
    graph.dispose();
  }
}

/** Flags of the WASM backend exist from its import on, and count when it starts. */
async function forbidThreads(): Promise<void> {
  await import("@tensorflow/tfjs-backend-wasm");
  env().set("WASM_HAS_MULTITHREAD_SUPPORT", false);
}

/** Outputs of each case, or the sentence of what went wrong. */
export async function runOps({ cases, backend, wasm }: Work) {
  if (wasm?.threads === 1) await forbidThreads();
  // Threads take part in whatever can be divided, however small.
  await prepare(backend, wasm === null ? {} : { ...wasm, worthSharing: 1 });
  // TF.js computes what is small in JavaScript; a training step has large tensors, too.
  if (backend === "webgl" || backend === "webgpu") env().set(`${backend.toUpperCase()}_CPU_FORWARD`, false);
  const answers: unknown[] = [];
  for (const item of cases) {
    const before = memory().numTensors;
    const answer = await run(item).catch((error: unknown) => String(failureOf(error) ?? error));
    const left = memory().numTensors - before;
    answers.push(left === 0 || typeof answer === "string" ? answer : `It leaves ${left} tensors behind.`);
  }
  return answers;
}

/** Names of the WASM modules that this worker has fetched, without the hash of their contents. */
export async function fetchedModules(): Promise<string[]> {
  const names = performance.getEntriesByType("resource").map(({ name }) => name.split("/").at(-1) ?? "");
  return names.filter((name) => name.endsWith(".wasm")).map((name) => name.replace(/-[\w-]{8}\.wasm$/, ""));
}
