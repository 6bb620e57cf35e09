/** The training worker: decodes messages, calls the handlers, and answers. */

import type { Backend } from "../../core/backend";
import type { Bundle } from "../../core/data/bundle";
import { type Examples, joinShards } from "../../core/data/examples";
import type { MistakeFindings } from "../../core/data/mistakes";
import { decodeShard, exampleValues } from "../../core/data/shard";
import {
  type ControlVariates,
  clock,
  type FromWorker,
  type StateSaving,
  type ToWorker,
  type TrainingPlan,
  type TrainingState,
} from "../../core/messages/training";
import { metricRows } from "../../core/numerics/metrics";
import { isLasting, later, messageOf, UserError } from "../../core/user-messages";
import { failureOf } from "../../engine/backend-health";
import { fetchBlob, fetchBlobOrShard, fetchWeights } from "../downloads/blobs";
import { type BundleSource, openBundle } from "../downloads/bundles";
import { PrefetchedFiles } from "../downloads/prefetch";
import { AnswerReviewer, type ExaminedPart, storedInShards, storedInSource } from "./answer-review";
import { chooseBackend } from "./backend-choice";
import { forgetStates, storedStates } from "./checkpoint-file";
import { keepChange, ownVariate, undoChange } from "./control-variates";
import { batchesOfShards, batchesOfSource, Evaluator } from "./evaluator";
import { LocalExamples } from "./input/local-data";
import { plannedFeed } from "./input/plan-examples";
import { protect } from "./protection";
import { StateSaver } from "./state-saver";
import { TrainingStep } from "./step";
import { tracerOf } from "./tracing/tracer-of";
import { train, type VariateChange } from "./trainer";

type TrainingMessage<T extends ToWorker["type"]> = Extract<ToWorker, { type: T }>;

/** The state that `load` leaves for later messages. */
interface LoadedModel {
  readonly origin: string;
  readonly backend: Backend;
  readonly source: BundleSource;
  readonly step: TrainingStep;
  /**
   * Processes a private plan's examples one by one in slices, if the bundle has them; made for the first such plan.
   */
  sliced: TrainingStep | null;
}

const scope = self as unknown as DedicatedWorkerGlobalScope;
let loaded: LoadedModel | null = null;
let evaluator: Evaluator | null = null;
/** Null, after the first request, if the model's answers are no classes. */
let examiner: AnswerReviewer | null | undefined;
/** The examples of a plan without shards. */
let own: LocalExamples | null = null;
const ahead = new PrefetchedFiles();
/** The number of stop messages: work ends when one arrives after its request. */
let stops = 0;
/** The number of messages that are processed or wait. */
let queued = 0;
/** Messages are processed one after the other, except stop. */
let work: Promise<void> = Promise.resolve();

function post(message: FromWorker, transfer: Transferable[] = []): void {
  scope.postMessage(message, transfer);
}

function requireLoaded(): LoadedModel {
  if (loaded === null) throw new Error(later("The model is not loaded yet; reload the page."));
  return loaded;
}

function parameterCount({ bundle }: BundleSource): number {
  return bundle.parameters.trainable + bundle.parameters.state;
}

async function load({ id, origin, bundle, setup }: TrainingMessage<"load">): Promise<void> {
  loaded?.step.dispose();
  loaded?.sliced?.dispose();
  evaluator?.dispose();
  examiner?.dispose();
  loaded = null;
  evaluator = null;
  examiner = undefined;
  const source = await openBundle(origin, bundle);
  const choice = await chooseBackend(setup, source);
  loaded = { origin, backend: choice.backend, source, step: choice.step, sliced: null };
  const { backend, sliced, stepMs } = choice;
  const sliceable = source.bundle.slice !== null;
  const { metrics } = source.bundle;
  post({
    type: "loaded",
    id,
    backend,
    sliced,
    sliceable,
    stepMs,
    parameters: parameterCount(source),
    trainable: source.bundle.parameters.trainable,
    exampleValues: exampleValues(source.bundle),
    rows: metricRows(metrics),
    metrics,
  });
}

async function fetchExamples(sha256: string): Promise<Examples> {
  const { origin, source } = requireLoaded();
  return joinShards(source.bundle, [decodeShard(await fetchBlob(origin, sha256))]);
}

async function fetchVariates(
  { origin, source }: LoadedModel,
  control: ControlVariates,
): Promise<VariateChange> {
  const { trainable } = source.bundle.parameters;
  const server = await fetchWeights(origin, control.server, trainable);
  return { server, own: await ownVariate(control, trainable) };
}

/**
 * Returns when to end: immediately on a stop message, and before a step that would end too late, but after at least
 * one.
 */
function ending(stopsBefore: number, until: number | null): (steps: number, stepMs: number) => boolean {
  return (steps, stepMs) => stops > stopsBefore || (until !== null && steps > 0 && clock() + stepMs > until);
}

/** Throws an Error for people if the bundle cannot run the plan. */
function checkPlan(
  { bundle }: BundleSource,
  { batchSize, control, learningRate, privacy }: TrainingPlan,
): void {
  if (batchSize < 1 || batchSize > bundle.batch_size) {
    throw new UserError(
      later("The plan asks for batches of %(size)s, the model takes 1 to %(most)s.", {
        size: batchSize,
        most: bundle.batch_size,
      }),
    );
  }
  if (control !== null && learningRate <= 0)
    throw new Error(later("Control variates need a learning rate above 0."));
  if (privacy !== null && (privacy.clip <= 0 || privacy.noise < 0))
    throw new Error(later("The plan's privacy of examples needs a clip above 0 and no negative noise."));
}

/** Returns the step for a plan: slices waste fewer padding rows when single examples are processed. */
async function stepFor(current: LoadedModel, { privacy }: TrainingPlan): Promise<TrainingStep> {
  if (privacy === null || current.source.bundle.slice === null) return current.step;
  current.sliced ??= await TrainingStep.load(current.source, true);
  return current.sliced;
}

/** Returns what saves a training's state: in its file, or by telling it. */
async function saverOf(
  { backend, source }: LoadedModel,
  id: number,
  { every, state, place }: StateSaving,
): Promise<StateSaver> {
  const { parameters, optimizer } = source.bundle;
  const sizes = { weights: parameterCount(source), slots: optimizer.slots * parameters.trainable };
  if (place !== null) return storedStates(place, every, backend, sizes);
  const tell = (told: TrainingState) =>
    post({ type: "state", id, ...told }, [told.weights, told.slots, told.totals]);
  return new StateSaver(every, tell, state);
}

async function runPlan(
  { id, weights, plan, trace, saving }: TrainingMessage<"train">,
  stopsBefore: number,
): Promise<void> {
  const loaded = requireLoaded();
  const { origin, source } = loaded;
  checkPlan(source, plan);
  const step = await stepFor(loaded, plan);
  const bring = plan.unit
    ? ahead.take(plan.unit.lease, origin)
    : (address: string) => fetchBlobOrShard(origin, address);
  const [vector, variates, open] = await Promise.all([
    fetchWeights(origin, weights, parameterCount(source), bring),
    plan.control && fetchVariates(loaded, plan.control),
    plannedFeed(source.bundle, plan, own, bring),
  ]);
  const tracer = trace && (await tracerOf(step, plan, trace));
  const saver = saving && (await saverOf(loaded, id, saving));
  const feed = open(saver?.start?.steps ?? 0);
  const { update, local, change, ...outcome } = await train({
    bundle: source.bundle,
    step,
    weights: vector,
    plan,
    variates,
    feed,
    tracer,
    saver,
    onProgress: (progress) => post({ type: "progress", id, ...progress }),
    stopped: ending(stopsBefore, plan.until),
  }).finally(() => {
    feed.close();
    tracer?.close();
  });
  if (plan.protection !== null) protect(update, plan.protection);
  const vectors = {
    update: update.buffer,
    local: local?.buffer ?? null,
    change: change?.buffer ?? null,
  };
  const transferred = Object.values(vectors).filter((vector) => vector !== null);
  post(
    { type: "trained", id, ...vectors, ...outcome, ...(tracer && { trace: tracer.trace() }) },
    transferred,
  );
}

async function compute({ id, tensor, inputs }: TrainingMessage<"compute">): Promise<void> {
  const { computeHash } = await import("./tracing/single-op");
  post({ type: "computed", id, hash: await computeHash(requireLoaded().step, tensor, inputs) });
}

async function measure(
  { id, weights, plan }: TrainingMessage<"measure">,
  stopsBefore: number,
): Promise<void> {
  const { origin, source } = requireLoaded();
  const { bundle } = source;
  const heldOut = plan.shards.length > 0 && own?.dealt ? own.parts(plan.shards) : own?.source("holdout");
  if (plan.shards.length === 0 && (heldOut === undefined || own?.dealt)) {
    post({ type: "measured", id, examples: 0, loss: 0, sums: [] });
    return;
  }
  const batches = heldOut
    ? batchesOfSource(bundle, heldOut)
    : batchesOfShards(bundle, plan.shards, fetchExamples);
  evaluator ??= await Evaluator.load(source);
  const vector = await fetchWeights(origin, weights, parameterCount(source));
  const measured = await evaluator.measure(vector, batches, ending(stopsBefore, plan.until));
  post({ type: "measured", id, ...measured });
}

/** Returns the batches to evaluate and their kind; null if there are none. */
function evaluationBatches(
  bundle: Bundle,
  { shards, aside }: TrainingMessage<"examine">,
): ExaminedPart | null {
  if (shards.length > 0 && own?.dealt) {
    return { batches: storedInSource(bundle, own.parts(shards)), about: aside ? "aside" : "dealt" };
  }
  if (shards.length > 0) {
    return { batches: storedInShards(bundle, shards, fetchExamples), about: aside ? "aside" : "dealt" };
  }
  if (own?.dealt) return null;
  const holdout = own?.source("holdout");
  if (holdout && holdout.count > 0) return { batches: storedInSource(bundle, holdout), about: "own-aside" };
  return own && { batches: storedInSource(bundle, own.source("train")), about: "own" };
}

async function examine(message: TrainingMessage<"examine">, stopsBefore: number): Promise<void> {
  const { id, weights } = message;
  const { origin, source } = requireLoaded();
  examiner = examiner === undefined ? await AnswerReviewer.load(source) : examiner;
  const asked = evaluationBatches(source.bundle, message);
  let findings: MistakeFindings | null = null;
  if (examiner && asked) {
    const vector = await fetchWeights(origin, weights, parameterCount(source));
    findings = await examiner.examine(vector, asked, () => stops > stopsBefore || queued > 1);
  }
  post({ type: "examined", id, findings });
}

async function keep({ id, control, change, undo }: TrainingMessage<"keep">): Promise<void> {
  await (undo ? undoChange : keepChange)(control, new Float32Array(change));
  post({ type: "kept", id });
}

function perform(
  message: Exclude<ToWorker, { type: "stop" | "own" | "fetch" | "forget" }>,
  stopsBefore: number,
): Promise<void> {
  switch (message.type) {
    case "load":
      return load(message);
    case "train":
      return runPlan(message, stopsBefore);
    case "compute":
      return compute(message);
    case "measure":
      return measure(message, stopsBefore);
    case "keep":
      return keep(message);
    case "examine":
      return examine(message, stopsBefore);
  }
}

function fail(id: number, error: unknown): void {
  const failure = failureOf(error);
  const problem = failure?.message ?? messageOf(error);
  post({ type: "failed", id, problem, kind: failure?.kind ?? null, lasting: isLasting(error) });
}

/** Takes one message of the page. */
export function receive(data: ToWorker): void {
  if (data.type === "stop") {
    stops += 1;
    return;
  }
  if (data.type === "forget") {
    ahead.forget(data.lease);
    forgetStates(data.lease);
    return;
  }
  if (data.type === "fetch") {
    // Runs beside the queue: no other message waits for it.
    const { id, lease, origin, weights, shard } = data;
    void ahead
      .fetch(lease, origin, weights, shard)
      .then(() => post({ type: "fetched", id }))
      .catch((error: unknown) => fail(id, error));
    return;
  }
  if (data.type === "own") {
    own?.close();
    own = new LocalExamples(data.port, data.counts, data.dealt);
    return;
  }
  const stopsBefore = stops;
  queued += 1;
  work = work
    .then(() => perform(data, stopsBefore))
    .catch((error: unknown) => fail(data.id, error))
    .finally(() => {
      queued -= 1;
    });
}
