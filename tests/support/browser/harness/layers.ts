/**
 * The rival: TF.js Layers trains the same architecture in a worker of its own, on the backends as TF.js ships them,
 * without our kernels.
 */

import "@tensorflow/tfjs-backend-cpu";
import "@tensorflow/tfjs-backend-webgl";
import "@tensorflow/tfjs-backend-webgpu";
import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";
import "@tensorflow/tfjs-core/dist/register_all_gradients";
import { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import plainAddress from "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm.wasm?url";
import simdAddress from "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm?url";
import threadedAddress from "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-threaded-simd.wasm?url";
import { ready, setBackend, tensor, train } from "@tensorflow/tfjs-core";
import { input, type LayersModel, layers, model, type SymbolicTensor } from "@tensorflow/tfjs-layers";
import type { Bundle } from "../../../../webapp/static/src/core/data/bundle";
import { noiseBatch } from "./measurements/speed";
import type { Answer, Call } from "./messages";

type Layer = LayersModel["layers"][number];

interface Described {
  readonly layer: string;
  readonly name: string;
  /** Names of the layers whose outputs it takes. */
  readonly inputs: readonly string[];
  readonly config: Readonly<Record<string, unknown>>;
}

interface Wanted {
  readonly base: string;
  readonly bundle: Bundle;
  readonly backend: string;
  readonly steps: number;
  /** The Keras model's layers; the first is its input. */
  readonly architecture: readonly Described[];
}

setWasmPaths({
  "tfjs-backend-wasm.wasm": plainAddress,
  "tfjs-backend-wasm-simd.wasm": simdAddress,
  "tfjs-backend-wasm-threaded-simd.wasm": threadedAddress,
});

const MAKERS: Readonly<Record<string, (config: never) => Layer>> = {
  Add: layers.add,
  BatchNormalization: layers.batchNormalization,
  Conv2D: layers.conv2d,
  Dense: layers.dense,
  Dropout: layers.dropout,
  Flatten: layers.flatten,
  GlobalAveragePooling2D: layers.globalAveragePooling2d,
  MaxPooling2D: layers.maxPooling2d,
  ReLU: layers.reLU,
};

function build({ architecture, bundle }: Wanted): LayersModel {
  const [first, ...others] = architecture;
  const given = input({ batchShape: [bundle.batch_size, ...(bundle.inputs[0]?.shape ?? [])] });
  const outputs = new Map<string, SymbolicTensor>();
  if (first !== undefined) outputs.set(first.name, given);
  let last = given;
  for (const { layer, name, inputs, config } of others) {
    const make = MAKERS[layer];
    if (make === undefined) throw new Error(`The benchmark does not know the layer ${layer}.`);
    const taken = inputs.map((wanted) => outputs.get(wanted) as SymbolicTensor);
    last = make(config as never).apply(
      taken.length === 1 ? (taken[0] as SymbolicTensor) : taken,
    ) as typeof last;
    outputs.set(name, last);
  }
  const built = model({ inputs: given, outputs: last });
  built.compile({
    optimizer: train.adam(0.001),
    loss: "sparseCategoricalCrossentropy",
    metrics: ["accuracy"],
  });
  return built;
}

const WARM_UP = 2;
const running = new Map<string, LayersModel>();

/** Milliseconds of one `trainOnBatch`, which ends when its loss is here, as our step does. */
async function timeStep(built: LayersModel, bundle: Bundle): Promise<number> {
  const batch = noiseBatch(bundle);
  const begin = performance.now();
  const x = tensor(batch.x[0] as Float32Array, [bundle.batch_size, ...(bundle.inputs[0]?.shape ?? [])]);
  const y = tensor(Float32Array.from(batch.y[0] as Int32Array), [bundle.batch_size, 1]);
  await built.trainOnBatch(x, y);
  const spent = performance.now() - begin;
  x.dispose();
  y.dispose();
  return spent;
}

/** Milliseconds of each of `steps` more steps. */
async function layersTimes(wanted: Wanted): Promise<number[]> {
  const { base, bundle, backend, steps } = wanted;
  const key = `${backend} ${base}`;
  let built = running.get(key);
  if (built === undefined) {
    await setBackend(backend);
    await ready();
    built = build(wanted);
    for (let i = 0; i < WARM_UP; i++) await timeStep(built, bundle);
    running.set(key, built);
  }
  const times: number[] = [];
  for (let i = 0; i < steps; i++) times.push(await timeStep(built, bundle));
  return times;
}

self.onmessage = async ({ data }: MessageEvent<Call>) => {
  let answer: Answer;
  try {
    answer = { id: data.id, result: { times: await layersTimes(data.argument as Wanted) } };
  } catch (error) {
    answer = { id: data.id, result: { fault: error instanceof Error ? error.message : String(error) } };
  }
  self.postMessage(answer);
};
