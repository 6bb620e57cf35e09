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

/** Why a worker was ended before it answered. */
export type DryRunEnd = "late" | "left";

/**
 * Asks a new worker. After the given milliseconds, or when `leave` is aborted, the worker is ended: a backend that
 * hangs can be ended in no other way.
 */
export function runDryRun(
  message: ToDryRunWorker,
  milliseconds: number,
  leave: AbortSignal,
  spawn = dryRunWorker,
): Promise<FromDryRunWorker | DryRunEnd> {
  return new Promise((resolve) => {
    const worker = spawn();
    const end = (answer: FromDryRunWorker | DryRunEnd): void => {
      clearTimeout(timer);
      leave.removeEventListener("abort", left);
      worker.terminate();
      resolve(answer);
    };
    const left = (): void => end("left");
    const timer = setTimeout(() => end("late"), milliseconds);
    leave.addEventListener("abort", left);
    worker.onmessage = ({ data }: MessageEvent<FromDryRunWorker>) => end(data);
    worker.onerror = ({ message: reason }) => {
      end({ type: "failed", problem: reason || say.workers.notStarted });
    };
    worker.postMessage(message);
  });
}
