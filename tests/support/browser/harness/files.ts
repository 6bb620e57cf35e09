/** Bundles and references as folders on the tests' server. */

import type { Backend } from "../../../../webapp/static/src/core/backend";
import type { Bundle } from "../../../../webapp/static/src/core/data/bundle";
import { randomInputs } from "../../../../webapp/static/src/core/numerics/random-inputs";
import { type StartOptions, startBackend } from "../../../../webapp/static/src/engine/backends";
import { registerOps } from "../../../../webapp/static/src/engine/ops";
import { type BundleSource, readGraphFiles } from "../../../../webapp/static/src/workers/downloads/bundles";
import type { PreparedBatch } from "../../../../webapp/static/src/workers/training/input/batch-order";

async function fetchBytes(address: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

export async function fetchJson<T>(address: string): Promise<T> {
  return JSON.parse(new TextDecoder().decode(await fetchBytes(address))) as T;
}

export async function fetchFloats(address: string): Promise<Float32Array<ArrayBuffer>> {
  return new Float32Array((await fetchBytes(address)).buffer);
}

/** The bundle in folder `base`. */
export async function openFolder(base: string): Promise<BundleSource> {
  const bundle = await fetchJson<Bundle>(`${base}/bundle.json`);
  const read = (path: string) => fetchBytes(`${base}/${path}`);
  return { bundle, graphFiles: (signature) => readGraphFiles(signature, read) };
}

interface ArraySpec {
  readonly dtype: "float32" | "int32";
  readonly shape: number[];
  readonly offset: number;
}

/** The reference's batches: shapes, dtypes and offsets in inputs.json, bytes in inputs.bin. */
export async function fetchInputs(base: string, bundle: Bundle): Promise<readonly PreparedBatch[]> {
  const table = await fetchJson<{ seed: number; batches: Record<string, ArraySpec>[] }>(
    `${base}/reference/inputs.json`,
  );
  const { buffer } = await fetchBytes(`${base}/reference/inputs.bin`);
  const array = ({ dtype, shape, offset }: ArraySpec) => {
    const length = shape.reduce((product, size) => product * size, 1);
    return new (dtype === "int32" ? Int32Array : Float32Array)(buffer, offset, length);
  };
  const parts = (batch: Record<string, ArraySpec>, prefix: "x" | "y") =>
    Object.keys(batch)
      .filter((name) => name.startsWith(`${prefix}_`))
      .map((_, i) => array(batch[`${prefix}_${i}`] as ArraySpec));
  return table.batches.map((batch, i) => {
    const sampleWeight = array(batch.sample_weight as ArraySpec) as Float32Array;
    const examples = sampleWeight.filter((weight) => weight > 0).length;
    const random = randomInputs(bundle, table.seed, i + 1);
    return { x: parts(batch, "x"), y: parts(batch, "y"), sampleWeight, examples, random };
  });
}

let registered = false;

/** Makes `backend` current, with our ops known to the executor. */
export async function prepare(backend: Backend, options: StartOptions = {}): Promise<void> {
  if (!registered) registerOps();
  registered = true;
  if (!(await startBackend(backend, options)))
    throw new Error(`Backend ${backend} does not work in this browser.`);
}
