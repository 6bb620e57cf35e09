/** The worker in which people try the model of a task; started at the first question. */

import { Asker } from "../../client/workers/playground-worker";
import type { Preprocess } from "../../core/preprocessing/declaration";
import { say } from "../../i18n";
import type { Naming } from "./texts";

/** What `/api/tasks/<name>/data` says that this page needs. */
interface Told {
  readonly preprocess: Preprocess | null;
  readonly trial: Naming;
}

export interface Tried {
  readonly asker: Asker;
  readonly naming: Naming;
}

/** Fetches how the task reads examples, and starts the worker, once; what failed is tried again. */
export function trying(task: string, bundle: string): () => Promise<Tried> {
  let started: Promise<Tried> | null = null;
  const start = async (): Promise<Tried> => {
    const response = await fetch(`/api/tasks/${task}/data`).catch(() => null);
    if (!response?.ok) throw new Error(say.trial.unreachable);
    const { preprocess, trial } = (await response.json()) as Told;
    return { asker: new Asker({ origin: location.origin, bundle, preprocess }), naming: trial };
  };
  return () => {
    started ??= start().catch((problem: unknown) => {
      started = null;
      throw problem;
    });
    return started;
  };
}
