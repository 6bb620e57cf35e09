/** The worker's shell: decodes messages, hands them over, answers. */

import { joinShards } from "../shared/examples";
import { decodeShard } from "../shared/shard";
import { type Control, clock, type FromWorker, type Plan, type ToWorker } from "../shared/worker-messages";
import { fetchBlob, fetchWeights } from "./blobs";
import { type BundleSource, openBundle } from "./bundles";
import { chooseBackend } from "./choose";
import { batchesOfShards, batchesOfSource, Evaluator } from "./evaluator";
import { failureOf } from "./health";
import { type Feed, openFeed } from "./input/feed";
import { OwnExamples } from "./input/own";
import { SourceFeed } from "./input/source";
import { registerOps } from "./ops";
import { Predictor } from "./predictor";
import type { TrainingStep } from "./step";
import { train, type Variates } from "./trainer";
import { keepChange, ownVariate, undoChange } from "./variates";

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
let evaluator: Evaluator | null = null;
/** What a plan without shards trains on. */
let own: OwnExamples | null = null;
/** Counts stop messages: work ends when one arrives after it was asked for. */
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
  evaluator?.dispose();
  loaded = null;
  predictor = null;
  evaluator = null;
  const source = await openBundle(origin, bundle);
  const choice = await chooseBackend(setup, source);
  loaded = { origin, source, step: choice.step };
  const { backend, sliced, stepMs } = choice;
  const sliceable = source.bundle.slice !== null;
  const parameters = parameterCount(source);
  say({ type: "loaded", id, backend, sliced, sliceable, stepMs, parameters });
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

async function fetchVariates({ origin, source }: Loaded, control: Control): Promise<Variates> {
  const { trainable } = source.bundle.parameters;
  const server = await fetchWeights(origin, control.server, trainable);
  return { server, own: await ownVariate(control, trainable) };
}

/** When to end: on a stop message at once, and before a step that would end too late, but after one at least. */
function ending(stopsBefore: number, until: number | null): (steps: number, stepMs: number) => boolean {
  return (steps, stepMs) => stops > stopsBefore || (until !== null && steps > 0 && clock() + stepMs > until);
}

/** Throws an Error for people where the bundle cannot run the plan. */
function checkPlan({ bundle }: BundleSource, { batchSize, control, learningRate }: Plan): void {
  if (batchSize < 1 || batchSize > bundle.batch_size) {
    throw new Error(`The plan asks for batches of ${batchSize}, the model takes 1 to ${bundle.batch_size}.`);
  }
  if (control !== null && learningRate <= 0)
    throw new Error("Control variates need a learning rate above 0.");
}

async function runPlan({ id, weights, plan }: Message<"train">, stopsBefore: number): Promise<void> {
  const loaded = requireLoaded();
  const { origin, source, step } = loaded;
  checkPlan(source, plan);
  const [vector, variates, open] = await Promise.all([
    fetchWeights(origin, weights, parameterCount(source)),
    plan.control && fetchVariates(loaded, plan.control),
    fetchFeed(loaded, plan),
  ]);
  const feed = open();
  const { update, change, ...outcome } = await train({
    bundle: source.bundle,
    step,
    weights: vector,
    plan,
    variates,
    feed,
    onProgress: (progress) => say({ type: "progress", id, ...progress }),
    stopped: ending(stopsBefore, plan.until),
  }).finally(() => feed.close());
  const vectors = { update: update.buffer, change: change?.buffer ?? null };
  const transferred = change ? [update.buffer, change.buffer] : [update.buffer];
  say({ type: "trained", id, ...vectors, ...outcome }, transferred);
}

async function measure({ id, weights, exam }: Message<"measure">, stopsBefore: number): Promise<void> {
  const { origin, source } = requireLoaded();
  const { bundle } = source;
  const fetchExamples = async (sha256: string) =>
    joinShards(bundle, [decodeShard(await fetchBlob(origin, sha256))]);
  const heldOut = own?.source("holdout");
  if (exam.shards.length === 0 && heldOut === undefined) {
    say({ type: "measured", id, examples: 0, loss: 0, sums: [] });
    return;
  }
  const batches =
    exam.shards.length === 0 && heldOut
      ? batchesOfSource(bundle, heldOut)
      : batchesOfShards(bundle, exam.shards, fetchExamples);
  evaluator ??= await Evaluator.load(source);
  const vector = await fetchWeights(origin, weights, parameterCount(source));
  const measured = await evaluator.measure(vector, batches, ending(stopsBefore, exam.until));
  say({ type: "measured", id, ...measured });
}

async function keep({ id, control, change, undo }: Message<"keep">): Promise<void> {
  await (undo ? undoChange : keepChange)(control, new Float32Array(change));
  say({ type: "kept", id });
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
    case "measure":
      return measure(message, stopsBefore);
    case "keep":
      return keep(message);
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
