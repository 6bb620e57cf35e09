/** The worker's shell: decodes messages, hands them over, answers. */

import { joinShards } from "../shared/examples";
import { decodeShard } from "../shared/shard";
import type { FromWorker, Plan, ToWorker } from "../shared/worker-messages";
import { fetchBlob, fetchWeights } from "./blobs";
import { type BundleSource, openBundle } from "./bundles";
import { chooseBackend } from "./choose";
import { failureOf } from "./health";
import { type Feed, openFeed } from "./input/feed";
import { OwnExamples } from "./input/own";
import { SourceFeed } from "./input/source";
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
/** What a plan without shards trains on. */
let own: OwnExamples | null = null;
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

/** Fetches what a plan trains on: its shards, or the volunteer's own examples where it names none. */
async function fetchFeed({ origin, source: { bundle } }: Loaded, plan: Plan): Promise<() => Feed> {
  if (plan.shards.length > 0) {
    const fetched = plan.shards.map(async (sha256) => decodeShard(await fetchBlob(origin, sha256)));
    const shards = await Promise.all(fetched);
    return () => openFeed(bundle, joinShards(bundle, shards), plan, null);
  }
  if (own === null) throw new Error("This task trains on your own files; choose some first.");
  const source = own.source("train");
  return () => new SourceFeed(bundle, source, plan);
}

async function runPlan({ id, weights, plan }: Message<"train">, stopsBefore: number): Promise<void> {
  const loaded = requireLoaded();
  const { origin, source, step } = loaded;
  const [vector, open] = await Promise.all([
    fetchWeights(origin, weights, parameterCount(source)),
    fetchFeed(loaded, plan),
  ]);
  const feed = open();
  const { update, ...outcome } = await train({
    bundle: source.bundle,
    step,
    weights: vector,
    plan,
    feed,
    onProgress: (progress) => say({ type: "progress", id, ...progress }),
    stopped: () => stops > stopsBefore,
  }).finally(() => feed.close());
  say({ type: "trained", id, update: update.buffer, ...outcome }, [update.buffer]);
}

async function predict({ id, weights, input }: Message<"predict">): Promise<void> {
  const { origin, source } = requireLoaded();
  predictor ??= await Predictor.load(source);
  const vector = await fetchWeights(origin, weights, parameterCount(source));
  const output = await predictor.predict(vector, input);
  say({ type: "predicted", id, output }, [output.buffer]);
}

function perform(message: Exclude<ToWorker, { type: "stop" | "own" }>, stopsBefore: number): Promise<void> {
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
  if (data.type === "own") {
    own?.close();
    own = new OwnExamples(data.port, data.counts);
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
