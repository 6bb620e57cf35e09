/** Runs a dry run's step in a worker of its own, which ends with the answer or after a time limit. */

import { DRY_RUN_WORKER, type FromDryRunWorker, type ToDryRunWorker } from "../../core/messages/dry-run";
import { say } from "../../i18n";
import "./script-policy";

function dryRunWorker(): Worker {
  return new Worker(new URL("../../workers/training/main.ts", import.meta.url), {
    type: "module",
    name: DRY_RUN_WORKER,
  });
}

/** A page that is being left cannot load its worker's files any more, and hears only a moment later that it ends. */
const PAGE_ENDS_MS = 500;

/** Why a worker was ended before it answered. */
export type DryRunEnd = "late" | "left";

/**
 * Asks a new worker. After the given milliseconds, when `leave` is aborted or when the page is left, the worker is
 * ended: a backend that hangs can be ended in no other way.
 */
export function runDryRun(
  message: ToDryRunWorker,
  milliseconds: number,
  leave: AbortSignal,
  spawn = dryRunWorker,
): Promise<FromDryRunWorker | DryRunEnd> {
  return new Promise((resolve) => {
    const worker = spawn();
    let failure: ReturnType<typeof setTimeout> | undefined;
    const end = (answer: FromDryRunWorker | DryRunEnd): void => {
      clearTimeout(timer);
      clearTimeout(failure);
      leave.removeEventListener("abort", left);
      removeEventListener("pagehide", left);
      worker.terminate();
      resolve(answer);
    };
    const left = (): void => end("left");
    const timer = setTimeout(() => end("late"), milliseconds);
    leave.addEventListener("abort", left);
    addEventListener("pagehide", left);
    const answered = (answer: FromDryRunWorker): void => {
      if (answer.type === "failed") failure = setTimeout(() => end(answer), PAGE_ENDS_MS);
      else end(answer);
    };
    worker.onmessage = ({ data }: MessageEvent<FromDryRunWorker>) => answered(data);
    worker.onerror = ({ message: reason }) => {
      answered({ type: "failed", problem: reason || say.workers.notStarted });
    };
    worker.postMessage(message);
  });
}
