/** Messages from the training worker to the reader of a volunteer's own files, over a port between the two. */

import type { Examples } from "../data/examples";
import type { UserMessage } from "../user-messages";

/** Own examples are for training, or held out for evaluation. */
export type RowPart = "train" | "holdout";

/** The number of own examples. */
export type OwnCounts = Readonly<Record<RowPart, number>>;

/** Asks for the examples `rows` of a part, numbered from 0. */
export interface TakeRequest {
  readonly id: number;
  readonly part: RowPart;
  readonly rows: Uint32Array;
}

export type TakeAnswer =
  | { readonly type: "taken"; readonly id: number; readonly examples: Examples }
  | { readonly type: "failed"; readonly id: number; readonly problem: UserMessage };
