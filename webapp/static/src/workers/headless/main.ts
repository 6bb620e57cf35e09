/**
 * Runs the training worker in Node.js, for a headless peer that trains with the same bits as browsers do. The peer
 * writes the worker's messages to standard input and reads its answers from standard output (./frames.ts).
 */

import { clock, type FromWorker, type ToWorker } from "../../core/messages/training";
import { inEnglish } from "../../core/user-messages";
import worker from "../training/main?worker&url";
import { FrameReader, frameOf } from "./frames";
import { becomeWorker, type NodeProcess } from "./worker-scope";

type Blob = Uint8Array<ArrayBuffer> | null;
type FromPeer = ToWorker | { readonly type: "blob"; readonly sha256: string; readonly bytes: Blob };

const { process } = globalThis as unknown as { process: NodeProcess };
const wanted = new Map<string, ((bytes: Blob) => void)[]>();

function post(message: object): void {
  process.stdout.write(frameOf(message));
}

function readBlob(sha256: string): Promise<Blob> {
  return new Promise((resolve) => {
    const waiting = wanted.get(sha256);
    wanted.set(sha256, [...(waiting ?? []), resolve]);
    if (waiting === undefined) post({ type: "blob", sha256 });
  });
}

/**
 * Returns the message in the worker's terms: bytes become buffers, and the milliseconds that a peer gives a training
 * become a time of this process' clock.
 */
function inWorkerTerms(message: FromPeer): object {
  const buffer = (value: unknown) => (value instanceof Uint8Array ? value.slice().buffer : value);
  if (message.type !== "train" && message.type !== "measure") return message;
  const weights = buffer(message.weights);
  if (message.type === "measure") return { ...message, weights };
  const { saving } = message;
  const state = saving?.state && {
    ...saving.state,
    weights: buffer(saving.state.weights),
    slots: buffer(saving.state.slots),
    totals: buffer(saving.state.totals),
  };
  const { unit, until } = message.plan;
  const start = unit?.start && { ...unit.start, own: buffer(unit.start.own) };
  const plan = {
    ...message.plan,
    until: until === null ? null : clock() + until,
    unit: unit && { ...unit, start },
  };
  return { ...message, weights, plan, ...(saving && { saving: { ...saving, state } }) };
}

/** Returns the answer with its problem in English: a peer has no page that translates it. */
function inPeerTerms(answer: FromWorker): object {
  return answer.type === "failed" ? { ...answer, message: inEnglish(answer.problem) } : answer;
}

function receive(message: FromPeer): void {
  if (message.type === "blob") {
    for (const resolve of wanted.get(message.sha256) ?? []) resolve(message.bytes);
    wanted.delete(message.sha256);
    return;
  }
  const scope = globalThis as unknown as { onmessage(event: { data: object }): void };
  scope.onmessage({ data: inWorkerTerms(message) });
}

becomeWorker(process, readBlob, (message) => post(inPeerTerms(message as FromWorker)));
await import(/* @vite-ignore */ new URL(worker.slice(worker.lastIndexOf("/") + 1), import.meta.url).href);

const reader = new FrameReader();
process.stdin.on("data", (piece) => {
  for (const message of reader.add(piece)) receive(message as FromPeer);
});
// The peer has ended.
process.stdin.on("end", () => process.exit(0));
post({ type: "ready" });
