/**
 * The results of the jobs `look`, which inspects the data, and `show`, which prepares some examples
 * (docs/reference/drafts.md#work).
 */

import type { DraftRecord, JobKind } from "../record";

export interface FoundColumn {
  readonly name: string;
  readonly kind: "number" | "category" | "text" | "id";
  readonly missing: number;
  readonly different: number;
  readonly values: Readonly<Record<string, number>>;
  readonly least: number | null;
  readonly mean: number | null;
  readonly most: number | null;
}

export interface DataFindings {
  readonly kind: "image" | "audio" | "table" | "text" | "array";
  readonly examples: number;
  readonly classes: Readonly<Record<string, number>>;
  readonly columns: readonly FoundColumn[];
  readonly pictures: readonly { readonly width: number; readonly height: number }[];
  readonly arrays: readonly { readonly name: string }[];
  readonly notes: readonly string[];
}

export interface ShownFindings {
  readonly kind: DataFindings["kind"];
  readonly inputs: readonly { readonly shape: readonly number[]; readonly dtype: string }[];
  readonly spread: { readonly least: number; readonly mean: number; readonly most: number } | null;
  readonly pictures: readonly {
    readonly before: string | null;
    readonly label: string;
    readonly width: number;
    readonly height: number;
  }[];
  readonly columns: readonly {
    readonly name: string;
    readonly became: string;
    readonly role: "input" | "label";
  }[];
  readonly rows: readonly (readonly { readonly raw: string | null; readonly values: readonly number[] }[])[];
  readonly tokens: readonly { readonly text: string; readonly id: number; readonly unknown: boolean }[];
  readonly label: string | null;
  readonly misfit: string | null;
  readonly broken: readonly string[];
}

/** Returns the result of a finished job; null if there is none. */
export function resultOf<T>(draft: DraftRecord, kind: JobKind): T | null {
  const job = draft.jobs[kind];
  return job?.state === "done" && job.result !== null ? (job.result as unknown as T) : null;
}
