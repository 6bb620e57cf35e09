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
import { type LayersModel, layers, sequential } from "@tensorflow/tfjs-layers";
import type { Bundle } from "../../../webapp/static/src/shared/bundle";
import type { Answer, Call } from "./messages";
import { noiseBatch } from "./speed";

type Layer = Parameters<ReturnType<typeof sequential>["add"]>[0];

interface Wanted {
  readonly bundle: Bundle;
  readonly backend: string;
  readonly steps: number;
  /** Class and arguments of each layer, as Keras saved them. */
  readonly architecture: readonly { readonly layer: string; readonly config: Record<string, unknown> }[];
}

setWasmPaths({
  "tfjs-backend-wasm.wasm": plainAddress,
  "tfjs-backend-wasm-simd.wasm": simdAddress,
  "tfjs-backend-wasm-threaded-simd.wasm": threadedAddress,
});

const MAKERS: Readonly<Record<string, (config: never) => Layer>> = {
  Conv2D: layers.conv2d,
  Dense: layers.dense,
  Dropout: layers.dropout,
  Flatten: layers.flatten,
  MaxPooling2D: layers.maxPooling2d,
};

function inputShape(bundle: Bundle): readonly number[] {
  return bundle.inputs[0]?.shape ?? [];
}

function build({ architecture, bundle }: Wanted): LayersModel {
  const model = sequential();
  for (const [i, { layer, config }] of architecture.entries()) {
    const make = MAKERS[layer];
    if (make === undefined) throw new Error(`The benchmark does not know the layer ${layer}.`);
    const inputs = i === 0 ? { batchInputShape: [bundle.batch_size, ...inputShape(bundle)] } : {};
    model.add(make({ ...config, ...inputs } as never));
  }
  model.compile({
    optimizer: train.adam(0.001),
    loss: "sparseCategoricalCrossentropy",
    metrics: ["accuracy"],
  });
  return model;
}

/** Milliseconds of each `trainOnBatch`, which ends when its loss is here, as our step does. */
async function layersTimes(wanted: Wanted): Promise<number[]> {
  const { bundle, backend, steps } = wanted;
  await setBackend(backend);
  await ready();
  const model = build(wanted);
  const batch = noiseBatch(bundle);
  const times: number[] = [];
  for (let number = 1; number <= steps + 2; number++) {
    const begin = performance.now();
    const x = tensor(batch.x[0] as Float32Array, [bundle.batch_size, ...inputShape(bundle)]);
    const y = tensor(Float32Array.from(batch.y[0] as Int32Array), [bundle.batch_size, 1]);
    await model.trainOnBatch(x, y);
    times.push(performance.now() - begin);
    x.dispose();
    y.dispose();
  }
  return times.slice(2);
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
