/** What the page and the reader of a volunteer's own files say to each other. */

import type { DataSpec } from "../preprocessing/declaration";
import type { OwnCounts } from "./local-data";

/** A chosen file; `path` with the folders it was chosen in, parted by `/`. */
export interface OwnFile {
  readonly path: string;
  readonly file: File;
}

/** Something in the files that is not as the task needs it. */
export interface Problem {
  /** Such as `cats/7.png`, or `people.csv, row 12`. */
  readonly where: string;
  /** What is wrong, what became of it, and what to do: sentences for people. */
  readonly text: string;
}

/** A picture as the model sees it. */
export interface Thumbnail {
  readonly path: string;
  /** Its class or its number, as the volunteer wrote it; null without one. */
  readonly label: string | null;
  readonly width: number;
  readonly height: number;
  /** RGBA, row by row. */
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

/** A column of a table and what the model gets of it. */
export interface ColumnPreview {
  readonly name: string;
  /** In words, such as `number, scaled` or `1 of 3: C, Q, S`. */
  readonly became: string;
  readonly role: "input" | "label";
}

export interface CellPreview {
  /** As the file has it; null where it is missing. */
  readonly raw: string | null;
  /** The values the model gets. */
  readonly values: readonly number[];
}

export interface TokenPreview {
  readonly text: string;
  readonly id: number;
  /** Whether the task's vocabulary lacks it. */
  readonly unknown: boolean;
}

export type Preview =
  | { readonly kind: "image"; readonly thumbnails: readonly Thumbnail[] }
  | {
      readonly kind: "table";
      readonly columns: readonly ColumnPreview[];
      readonly rows: readonly (readonly CellPreview[])[];
      /** Columns of the file that the task does not use. */
      readonly unused: readonly string[];
    }
  | {
      readonly kind: "text";
      readonly tokens: readonly TokenPreview[];
      /** Of all tokens, the share that the vocabulary lacks. */
      readonly unknown: number;
      readonly count: number;
    }
  | { readonly kind: "array"; readonly arrays: readonly { readonly name: string; readonly what: string }[] };

/** What became of the chosen files. */
export interface Report {
  /** Examples that were understood, held-out ones included. */
  readonly examples: number;
  readonly counts: OwnCounts;
  /** Examples of each class, in the task's order; null where the label is no class. */
  readonly classes: readonly { readonly name: string; readonly count: number }[] | null;
  /** The first problems, and how many there are. */
  readonly problems: readonly Problem[];
  readonly problemCount: number;
  /** Why nobody can train on these files yet, and what to do; null where they can. */
  readonly missing: string | null;
  readonly preview: Preview;
}

export type ToReader =
  /** Reads these files, in place of earlier ones; answered by `report`, after any number of `reading`. */
  | {
      readonly type: "read";
      readonly id: number;
      readonly data: DataSpec;
      readonly files: readonly OwnFile[];
    }
  /** Answers requests for examples (local-data.ts) on this port from now on. */
  | { readonly type: "serve"; readonly port: MessagePort };

export type FromReader =
  | { readonly type: "reading"; readonly id: number; readonly done: number; readonly total: number }
  | { readonly type: "report"; readonly id: number; readonly report: Report }
  | { readonly type: "failed"; readonly id: number; readonly problem: string };
