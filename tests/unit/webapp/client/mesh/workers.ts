/** Workers in node, which has none of the browser's kind. */

import { vi } from "vitest";
import { AveragingWorker } from "../../../../../webapp/static/src/client/workers/averaging-worker";

/** One after the other: each finds its end of the messages at `self`. */
let started: Promise<unknown> = Promise.resolve();

/** The averager's own script, in this thread: messages to it and from it are cloned and transferred as to a thread. */
export function averagingWorker(): Promise<AveragingWorker> {
  const worker = started.then(start);
  started = worker;
  return worker;
}

async function start(): Promise<AveragingWorker> {
  const { port1, port2 } = new MessageChannel();
  vi.stubGlobal("self", port2);
  // Each worker has the state of its script for itself.
  vi.resetModules();
  await import("../../../../../webapp/static/src/workers/averaging/main");
  vi.unstubAllGlobals();
  const worker = Object.assign(port1, { terminate: () => port1.close() });
  return new AveragingWorker(() => worker as unknown as Worker);
}
