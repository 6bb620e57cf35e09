import type { Backend } from "../backend";
import type { UserMessage } from "../user-messages";

/** Files of the draft by their SHA-256; `shard` is null if volunteers bring data of their own. */
export interface DryRunStep {
  /** The address of the files: `<base>/blobs/<sha256>`. */
  readonly base: string;
  readonly bundle: string;
  readonly weights: string;
  readonly step: string;
  readonly shard: string | null;
}

/** The name of workers that take a dry run's step. */
export const DRY_RUN_WORKER = "rehearsing";

export type ToDryRunWorker =
  | { readonly type: "step"; readonly step: DryRunStep; readonly backend: Backend }
  | { readonly type: "data"; readonly step: DryRunStep };

export type FromDryRunWorker =
  /** The step was taken; `gradientError` is its L2 distance from the expected gradient over that one's norm. */
  | {
      readonly type: "stepped";
      readonly loss: number;
      readonly gradientError: number;
      readonly stepMs: number;
    }
  /** The browser does not have the backend. */
  | { readonly type: "absent" }
  /** The first shard's examples; `problem` is a sentence if they differ from those of the server. */
  | { readonly type: "read"; readonly examples: number; readonly problem: UserMessage | null }
  | { readonly type: "failed"; readonly problem: UserMessage };
