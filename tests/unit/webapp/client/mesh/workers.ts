/** Workers in node, which has none of the browser's kind. */

import { vi } from "vitest";
import { AveragingWorker } from "../../../../../webapp/static/src/client/workers/averaging-worker";
import { EvidenceWorker } from "../../../../../webapp/static/src/client/workers/evidence-worker";

/** One after the other: each finds its end of the messages at `self`. */
let started: Promise<unknown> = Promise.resolve();

/** The averager's own script, in this thread: messages to it and from it are cloned and transferred as to a thread. */
export async function averagingWorker(): Promise<AveragingWorker> {
  const worker = await next(() => import("../../../../../webapp/static/src/workers/averaging/main"));
  return new AveragingWorker(() => worker);
}

/** The same with the script that checks evidence. */
export async function evidenceWorker(): Promise<EvidenceWorker> {
  const worker = await next(() => import("../../../../../webapp/static/src/workers/evidence/main"));
  return new EvidenceWorker(() => worker);
}

function next(script: () => Promise<unknown>): Promise<Worker> {
  const worker = started.then(() => start(script));
  started = worker;
  return worker;
}

async function start(script: () => Promise<unknown>): Promise<Worker> {
  const { port1, port2 } = new MessageChannel();
  vi.stubGlobal("self", port2);
  // Each worker has the state of its script for itself.
  vi.resetModules();
  await script();
  vi.unstubAllGlobals();
  return Object.assign(port1, { terminate: () => port1.close() }) as unknown as Worker;
}
