/**
 * The entry of the workers for training, playground and dry run, which are one program, so that TF.js is fetched once.
 * It passes messages to the handler of its name, and holds nothing that the handlers import: WebKit evaluates a worker's
 * entry once more when another file of the worker imports from it, and the second one would take the messages.
 */

import { DRY_RUN_WORKER, type ToDryRunWorker } from "../../core/messages/dry-run";
import { PLAYGROUND_WORKER, type ToPlaygroundWorker } from "../../core/messages/playground";
import type { ToWorker } from "../../core/messages/training";

type Receive = (message: ToWorker | ToPlaygroundWorker | ToDryRunWorker) => void;

const scope = self as unknown as DedicatedWorkerGlobalScope;

async function receiver(): Promise<Receive> {
  const { registerOps } = await import("../../engine/ops");
  registerOps();
  switch (scope.name) {
    case PLAYGROUND_WORKER:
      return (await import("../playground/message-handler")).receive as Receive;
    case DRY_RUN_WORKER:
      return (await import("../dry-run/message-handler")).receive as Receive;
    default:
      return (await import("./message-handler")).receive as Receive;
  }
}

const ready = receiver();
scope.onmessage = ({ data }: MessageEvent<ToWorker | ToPlaygroundWorker | ToDryRunWorker>) => {
  // If the file cannot be fetched the worker fails, and the question is rejected.
  ready.then((receive) => receive(data)).catch(reportError);
};
