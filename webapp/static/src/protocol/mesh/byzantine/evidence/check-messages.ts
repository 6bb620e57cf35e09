/** Messages between the page and the worker that checks evidence against members of a mesh. */

import type { Bytes } from "../../../../core/crypto/bytes";
import type { UserMessage } from "../../../../core/user-messages";
import type { Conviction } from "./conviction";

/** Asks whom evidence convicts in this run of a task. */
export interface EvidenceQuestion {
  readonly type: "convict";
  readonly id: number;
  readonly evidence: Bytes;
  readonly task: string;
  readonly run: string;
}

/** With the reason if it convicts nobody. */
export type EvidenceAnswer =
  | { readonly type: "convicted"; readonly id: number; readonly conviction: Conviction }
  | { readonly type: "failed"; readonly id: number; readonly problem: UserMessage };
