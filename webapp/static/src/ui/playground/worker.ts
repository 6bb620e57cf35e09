/** Starts the playground's worker for a task, at the first question. */

import { PlaygroundWorker } from "../../client/workers/playground-worker";
import type { Preprocess } from "../../core/preprocessing/declaration";
import { say } from "../../i18n";
import type { ClassNames } from "./texts";

/** The part of `/api/tasks/<name>/data` that this page needs. */
interface PlaygroundStatus {
  readonly preprocess: Preprocess | null;
  readonly trial: ClassNames;
}

export interface PlaygroundResult {
  readonly worker: PlaygroundWorker;
  readonly naming: ClassNames;
}

/** Fetches the task's preprocessing, and starts the worker, once; a failure is retried at the next question. */
export function playgroundOpener(task: string, bundle: string): () => Promise<PlaygroundResult> {
  let started: Promise<PlaygroundResult> | null = null;
  const start = async (): Promise<PlaygroundResult> => {
    const response = await fetch(`/api/tasks/${task}/data`).catch(() => null);
    if (!response?.ok) throw new Error(say.trial.unreachable);
    const { preprocess, trial } = (await response.json()) as PlaygroundStatus;
    return { worker: new PlaygroundWorker({ origin: location.origin, bundle, preprocess }), naming: trial };
  };
  return () => {
    started ??= start().catch((problem: unknown) => {
      started = null;
      throw problem;
    });
    return started;
  };
}
