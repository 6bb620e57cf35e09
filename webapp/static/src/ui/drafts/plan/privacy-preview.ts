/** The answer of `POST /api/drafts/{id}/privacy` (docs/reference/drafts.md#protection). */

import type { ChangedEstimates } from "../../../i18n/texts/owners/privacy";
import type { DraftTable } from "../record";

/** The parties that could read an update or a model. */
export const READERS = ["server", "participants", "readers"] as const;

export interface PrivacyOption {
  readonly part: "updates" | "noise" | "robust";
  readonly key: string;
  readonly chosen: boolean;
  readonly changes: readonly ChangedEstimates[];
  readonly refused: string | null;
  readonly patch: DraftTable;
}

export interface RobustOption extends PrivacyOption {
  readonly title: string;
  readonly text: string;
}

/** The rules, or masked groups, in rounds of `clients`; `reason` says why none is proposed. */
export interface RobustChoices {
  readonly clients: number;
  readonly proposed: string | null;
  readonly reason: string | null;
  readonly options: readonly RobustOption[];
}

export interface PrivacyPreview {
  readonly problem: string | null;
  readonly waits?: string | null;
  readonly disclosure: Readonly<Record<(typeof READERS)[number], readonly string[]>> | null;
  readonly guarantee: { readonly sentence: string; readonly assumptions: readonly string[] } | null;
  readonly curve: readonly (readonly [number, number])[];
  readonly options: readonly PrivacyOption[];
  /** Null where no server aggregates rounds; absent if the tables cannot be read at all. */
  readonly robust?: RobustChoices | null;
  readonly needed: number | null;
}
