/** The answer of `GET /api/drafts/{id}` (docs/reference/drafts.md). */

export type Value = string | number | boolean | null | readonly Value[] | DraftTable;
/** A table of a task file. */
export interface DraftTable {
  readonly [key: string]: Value;
}

export type StepName = "model" | "data" | "preprocess" | "plan" | "privacy" | "about" | "trial" | "review";
export type FileKind = "model" | "data";
export type JobKind = "build" | "convert" | "look" | "show" | "cut" | "rehearse" | "forecast";
export type JobState = "waiting" | "running" | "done" | "failed" | "cancelled";
export type ItemState = "done" | "todo" | "running" | "failed";

/**
 * A line of the checklist: `text` is a sentence, `step` the step that handles it. Without `for_test`, a private test
 * does not need it.
 */
export interface ChecklistItem {
  readonly key: string;
  readonly state: ItemState;
  readonly text: string;
  readonly step: StepName;
  readonly for_test: boolean;
}

/** A completely uploaded file; times are Unix seconds. */
export interface StoredFile {
  readonly name: string;
  readonly suffix: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly stored: number;
}

/** A partly uploaded file: `offset` of its `bytes` have arrived. */
export interface DraftUpload {
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
  readonly offset: number;
  readonly began: number;
  readonly sha256: string | null;
}

export interface DraftJob {
  readonly state: JobState;
  readonly of: string;
  readonly asked: number;
  readonly ended: number | null;
  readonly log: readonly { readonly at: number; readonly text: string }[];
  readonly restarts: number;
  readonly result: DraftTable | null;
}

/** A starter model that fits the draft's data; `parameters` once it was built. */
export interface OfferedStarter {
  readonly name: string;
  readonly title: string;
  readonly text: string;
  readonly chosen: boolean;
  readonly parameters: number | null;
}

/** One array of an example. */
export interface DraftPort {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: string;
}

/** Values from the bundle (docs/reference/bundle.md). */
export interface Converted {
  readonly batch_size: number;
  readonly inputs: readonly DraftPort[];
  readonly labels: readonly DraftPort[];
  readonly outputs: readonly (DraftPort & { readonly loss: string | null })[];
  readonly metrics: readonly { readonly name: string }[];
  readonly optimizer: DraftTable;
  /** How far it lies from Keras; null in bundles made before that was measured. */
  readonly checked: { readonly worst: number } | null;
  readonly warnings: readonly string[];
}

/** Why a task's name cannot be used, and a free one like it; null if it can. */
export interface NameCheck {
  readonly problem: string | null;
  readonly suggestion: string | null;
}

export interface DraftRecord {
  readonly id: string;
  readonly created: number;
  readonly changed: number;
  readonly task: DraftTable;
  readonly name: NameCheck;
  readonly readme: string;
  readonly files: Readonly<Partial<Record<FileKind, StoredFile>>>;
  readonly uploads: Readonly<Partial<Record<FileKind, DraftUpload>>>;
  readonly jobs: Readonly<Partial<Record<JobKind, DraftJob>>>;
  readonly piece_bytes: number;
  readonly checklist: readonly ChecklistItem[];
  /** `free`: nothing is required in the step. */
  readonly steps: readonly { readonly name: StepName; readonly state: ItemState | "free" }[];
  readonly standing: string;
  /** What the plan came to when it was tried; `warns` if it ended at chance. Null without a trial of it. */
  readonly forecast: { readonly text: string; readonly warns: boolean } | null;
  readonly onward: boolean;
  /** The keys of the plan that the owner set; null if the whole plan came with a task file. */
  readonly owned: readonly string[] | null;
  /** Inputs and outputs of the converted model; null before conversion. */
  readonly model: Converted | null;
  readonly devices: DraftTable | null;
  /** The name of the starter model that the owner began with; null after an upload. */
  readonly starter: string | null;
  readonly starters: readonly OfferedStarter[];
}

/** Whether a job waits or runs. */
export function isLive(job: DraftJob | undefined): boolean {
  return job !== undefined && (job.state === "waiting" || job.state === "running");
}

export function isTable(value: Value | undefined): value is DraftTable {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the table under these keys, or an empty one. */
export function tableAt(table: DraftTable, ...keys: readonly string[]): DraftTable {
  let value: Value | undefined = table;
  for (const key of keys) value = isTable(value) ? value[key] : undefined;
  return isTable(value) ? value : {};
}

/**
 * Applies `change` to `table` (RFC 7396): tables are merged, null removes a key, other values replace earlier ones.
 */
export function mergeTables(table: DraftTable, change: DraftTable): DraftTable {
  const result: Record<string, Value> = { ...table };
  for (const [key, value] of Object.entries(change)) {
    const before = result[key];
    if (value === null) delete result[key];
    else result[key] = isTable(value) ? mergeTables(isTable(before) ? before : {}, value) : value;
  }
  return result;
}

/** Returns the smallest change that turns `before` into `after`. */
export function changeBetween(before: DraftTable, after: DraftTable): DraftTable {
  const gone = Object.keys(before).filter((key) => !(key in after));
  const parts = Object.entries(after).map(([key, value]): [string, Value] => {
    const old = before[key];
    return [key, isTable(value) && isTable(old) ? changeBetween(old, value) : value];
  });
  return { ...Object.fromEntries(gone.map((key) => [key, null])), ...Object.fromEntries(parts) };
}

/** Combines `first` and then `second` to one change; removed keys stay removed. */
export function joinChanges(first: DraftTable, second: DraftTable): DraftTable {
  const result: Record<string, Value> = { ...first };
  for (const [key, value] of Object.entries(second)) {
    const before = result[key];
    result[key] = isTable(value) && isTable(before) ? joinChanges(before, value) : value;
  }
  return result;
}
