/** Messages between the page and the reader of a volunteer's own files. */

import type { DataSpec } from "../preprocessing/declaration";
import type { UserMessage } from "../user-messages";
import type { OwnCounts } from "./local-data";

/** A chosen file; `path` includes its folders, separated by `/`. */
export interface OwnFile {
  readonly path: string;
  readonly file: File;
}

/** A part of the files that does not fit the task. */
export interface Problem {
  /** Such as `cats/7.png`, or `people.csv, row 12`. */
  readonly where: UserMessage;
  /** The problem, its consequence, and what to do: sentences for people. */
  readonly text: UserMessage;
}

/** A picture, or the spectrogram of a recording, as the model sees it. */
export interface Thumbnail {
  readonly path: string;
  /** Its class or its number, as the volunteer wrote it; null without one. */
  readonly label: string | null;
  readonly width: number;
  readonly height: number;
  /** RGBA, row by row. */
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

/** A column of a table and its values for the model. */
export interface ColumnPreview {
  readonly name: string;
  /** The conversion in words, such as `number, scaled` or `1 of 3: C, Q, S`. */
  readonly became: UserMessage;
  readonly role: "input" | "label";
}

export interface CellPreview {
  /** The text in the file; null if it is missing. */
  readonly raw: string | null;
  /** The values for the model. */
  readonly values: readonly number[];
}

export interface TokenPreview {
  readonly text: string;
  readonly id: number;
  /** Whether it is not in the task's vocabulary. */
  readonly unknown: boolean;
}

export type Preview =
  | { readonly kind: "image" | "audio"; readonly thumbnails: readonly Thumbnail[] }
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
      /** The share of all tokens that are not in the vocabulary. */
      readonly unknown: number;
      readonly count: number;
    }
  | {
      readonly kind: "array";
      readonly arrays: readonly { readonly name: string; readonly what: UserMessage }[];
    };

/** The reader's report on the chosen files. */
export interface Report {
  /** Valid examples, held-out ones included. */
  readonly examples: number;
  readonly counts: OwnCounts;
  /** Examples of each class, in the task's order; null if the label is no class. */
  readonly classes: readonly { readonly name: string; readonly count: number }[] | null;
  /** The first problems, and their total number. */
  readonly problems: readonly Problem[];
  readonly problemCount: number;
  /** Why these files cannot be used for training yet, and what to do; null if they can. */
  readonly missing: UserMessage | null;
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
  | { readonly type: "failed"; readonly id: number; readonly problem: UserMessage };
