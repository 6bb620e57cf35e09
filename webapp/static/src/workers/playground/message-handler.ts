/** The handler of the playground's worker: decodes messages, runs the model, and answers. */

import type { Backend } from "../../core/backend";
import type {
  FromPlaygroundWorker,
  PlaygroundSubject,
  PlaygroundVersion,
  ToPlaygroundWorker,
} from "../../core/messages/playground";
import { combine } from "../../core/numerics/scaffold";
import { DataProblem } from "../../core/preprocessing/data-problem";
import { asValue, later, messageOf } from "../../core/user-messages";
import { candidates, startBackend } from "../../engine/backends";
import { decodeImage } from "../data-reader/images";
import { fetchWeights } from "../downloads/blobs";
import { type BundleSource, openBundle } from "../downloads/bundles";
import { yieldToMessages } from "../training/metric-sums";
import { storedInputs } from "./input-values";
import { Predictor } from "./predictor";
import { write } from "./text-generation";

type PlaygroundMessage<T extends ToPlaygroundWorker["type"]> = Extract<ToPlaygroundWorker, { type: T }>;

/** The state that `open` leaves for later messages. */
interface OpenedModel {
  readonly subject: PlaygroundSubject;
  readonly source: BundleSource;
  readonly predictor: Predictor;
}

/** What was written so far. */
interface WriteProgress {
  readonly texts: readonly string[];
  readonly lacking: readonly string[];
}

/** From this number of operations per answer, starting the GPU is worth it, if there is one. */
const WORTH_A_GPU = 2e8;

const scope = self as unknown as DedicatedWorkerGlobalScope;
let subject: PlaygroundSubject | null = null;
let opened: Promise<OpenedModel> | null = null;
let stops = 0;
/** Messages are processed one after the other, except stop. */
let work: Promise<void> = Promise.resolve();

function post(message: FromPlaygroundWorker): void {
  scope.postMessage(message);
}

async function open(subject: PlaygroundSubject): Promise<OpenedModel> {
  const source = await openBundle(subject.origin, subject.bundle);
  const { bundle } = source;
  const { trainable, state } = bundle.parameters;
  const zeros = bundle.inputs.map(({ shape }) => new Float32Array(shape.reduce((a, b) => a * b, 1)));
  const fast = bundle.flops.predict > WORTH_A_GPU ? await candidates() : (["wasm"] as const);
  for (const backend of [...fast, "cpu"] satisfies Backend[]) {
    if (!(await startBackend(backend))) continue;
    const predictor = await Predictor.load(source);
    const works = await predictor.predict(new Float32Array(trainable + state), zeros).then(
      () => true,
      () => false,
    );
    if (works) return { subject, source, predictor };
    predictor.dispose();
  }
  throw new Error(later("This browser cannot run the model; try a current Firefox, Chrome or Safari."));
}

/** Loads what `open` named at the first question; after a failure the next question tries again. */
function requireOpened(): Promise<OpenedModel> {
  if (subject === null) throw new Error(later("The model is not loaded yet; reload the page."));
  opened ??= open(subject).catch((problem: unknown) => {
    opened = null;
    throw problem;
  });
  return opened;
}

async function vectorOf(
  { weights, update }: PlaygroundVersion,
  { subject, source }: OpenedModel,
): Promise<Float32Array<ArrayBuffer>> {
  const { trainable, state } = source.bundle.parameters;
  const vector = await fetchWeights(subject.origin, weights, trainable + state);
  return update === null ? vector : combine(vector, new Float32Array(update), 1);
}

async function ask({ id, versions, question }: PlaygroundMessage<"ask">): Promise<void> {
  const current = await requireOpened();
  const { subject, source, predictor } = current;
  const { x, picture, lacking } = await storedInputs(
    question,
    subject.preprocess,
    source.bundle.inputs,
    decodeImage,
  );
  const outputs: Float32Array[] = [];
  for (const version of versions) outputs.push(await predictor.predict(await vectorOf(version, current), x));
  post({ type: "answered", id, outputs, picture, lacking });
}

async function continueText(
  { id, versions, prompt }: PlaygroundMessage<"write">,
  stopsBefore: number,
): Promise<void> {
  const current = await requireOpened();
  const { subject, predictor } = current;
  if (subject.preprocess?.kind !== "text") throw new Error(later("This task's examples are no texts."));
  const vectors = await Promise.all(versions.map((version) => vectorOf(version, current)));
  let last: WriteProgress = { texts: [], lacking: [] };
  await write({
    rule: subject.preprocess,
    prompt,
    models: vectors.map((vector) => (ids) => predictor.predict(vector, [ids])),
    random: Math.random,
    wrote: async (texts, lacking) => {
      last = { texts, lacking };
      post({ type: "progress", id, ...last });
      await yieldToMessages();
      return stops === stopsBefore;
    },
  });
  post({ type: "written", id, ...last });
}

/** Takes a message; they are processed one after the other. */
export function receive(data: ToPlaygroundWorker): void {
  if (data.type === "open") {
    subject = data.subject;
    return;
  }
  if (data.type === "stop") {
    stops += 1;
    return;
  }
  const stopsBefore = stops;
  work = work
    .then(() => (data.type === "ask" ? ask(data) : continueText(data, stopsBefore)))
    .catch((error: unknown) => {
      const problem = messageOf(error);
      const isData = error instanceof DataProblem;
      const sentence = isData ? later("%(problem)s.", { problem: asValue(problem) }) : problem;
      post({ type: "failed", id: data.id, problem: sentence });
    });
}
