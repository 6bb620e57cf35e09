/** Messages between the training worker and its feeders. */

import type { Bundle } from "../../../core/data/bundle";
import type { Examples } from "../../../core/data/examples";
import type { Walk } from "../../../core/numerics/batches";
import type { UserMessage } from "../../../core/user-messages";
import type { PreparedBatch } from "./batch-order";

export type ToFeeder =
  | { readonly type: "open"; readonly bundle: Bundle; readonly examples: Examples; readonly walk: Walk }
  | { readonly type: "prepare"; readonly step: number };

export type FromFeeder =
  | { readonly step: number; readonly batch: PreparedBatch }
  | { readonly step: number; readonly problem: UserMessage };
