/** The worker's shell: decodes messages, hands them over, answers. */

import { decodeShard } from "../shared/shard";
import type { FromWorker, ToWorker } from "../shared/worker-messages";
import { fetchBlob, fetchWeights } from "./blobs";
import { type BundleSource, openBundle } from "./bundles";
import { chooseBackend } from "./choose";
import { failureOf } from "./health";
import { registerOps } from "./ops";
import { Predictor } from "./predictor";
import type { TrainingStep } from "./step";
import { train } from "./trainer";

type Message<T extends ToWorker["type"]> = Extract<ToWorker, { type: T }>;

/** What `load` leaves for the messages after it. */
interface Loaded {
  readonly origin: string;
  readonly source: BundleSource;
  readonly step: TrainingStep;
}

const scope = self as unknown as DedicatedWorkerGlobalScope;
let loaded: Loaded | null = null;
let predictor: Predictor | null = null;
/** Counts stop messages: a training ends when one arrives after it was asked for. */
let stops = 0;
/** Messages are worked on one after the other, stop excepted. */
let work: Promise<void> = Promise.resolve();

function say(message: FromWorker, transfer: Transferable[] = []): void {
  scope.postMessage(message, transfer);
}

function requireLoaded(): Loaded {
  if (loaded === null) throw new Error("The model is not loaded yet; reload the page.");
  return loaded;
}

function parameterCount({ bundle }: BundleSource): number {
  return bundle.parameters.trainable + bundle.parameters.state;
}

async function load({ id, origin, bundle, setup }: Message<"load">): Promise<void> {
  loaded?.step.dispose();
  predictor?.dispose();
  loaded = null;
  predictor = null;
  const source = await openBundle(origin, bundle);
  const choice = await chooseBackend(setup, source);
  loaded = { origin, source, step: choice.step };
  const { backend, sliced, stepMs } = choice;
  const sliceable = source.bundle.slice !== null;
  say({ type: "loaded", id, backend, sliced, sliceable, stepMs, parameters: parameterCount(source) });
}

async function runPlan({ id, weights, plan }: Message<"train">, stopsBefore: number): Promise<void> {
  const { origin, source, step } = requireLoaded();
  const [vector, ...shards] = await Promise.all([
    fetchWeights(origin, weights, parameterCount(source)),
    ...plan.shards.map(async (sha256) => decodeShard(await fetchBlob(origin, sha256))),
  ]);
  const { update, ...outcome } = await train({
    bundle: source.bundle,
    step,
    weights: vector,
    plan,
    shards,
    feeders: null,
    onProgress: (progress) => say({ type: "progress", id, ...progress }),
    stopped: () => stops > stopsBefore,
  });
  say({ type: "trained", id, update: update.buffer, ...outcome }, [update.buffer]);
}

async function predict({ id, weights, input }: Message<"predict">): Promise<void> {
  const { origin, source } = requireLoaded();
  predictor ??= await Predictor.load(source);
  const vector = await fetchWeights(origin, weights, parameterCount(source));
  const output = await predictor.predict(vector, input);
  say({ type: "predicted", id, output }, [output.buffer]);
}

function perform(message: Exclude<ToWorker, { type: "stop" }>, stopsBefore: number): Promise<void> {
  switch (message.type) {
    case "load":
      return load(message);
    case "train":
      return runPlan(message, stopsBefore);
    case "predict":
      return predict(message);
  }
}

registerOps();
scope.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.type === "stop") {
    stops += 1;
    return;
  }
  const stopsBefore = stops;
  work = work
    .then(() => perform(data, stopsBefore))
    .catch((error: unknown) => {
      const failure = failureOf(error);
      const message = failure?.message ?? (error instanceof Error ? error.message : String(error));
      say({ type: "failed", id: data.id, message, kind: failure?.kind ?? null });
    });
};
