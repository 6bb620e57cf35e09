/** The fitted preprocessing of a task, as docs/reference/preprocessing.md specifies it (format `minga-preprocess/1`). */

export interface StoredSpec {
  /** The shape of one example. */
  readonly shape: readonly number[];
  readonly dtype: "uint8" | "int32" | "float32";
}

export type Encoding = "index" | "one-hot" | "number";

export type LabelRule =
  | { readonly kind: "class"; readonly classes: readonly string[]; readonly encoding: Encoding }
  | { readonly kind: "number" };

interface Common {
  readonly format: "minga-preprocess/1";
  readonly inputs: readonly StoredSpec[];
  readonly labels: readonly StoredSpec[];
}

export type Fit = "stretch" | "cover" | "contain";
export type Resize = "nearest" | "bilinear" | "bicubic" | "area";

export interface ImageRule {
  /** [height, width] */
  readonly size: readonly [number, number];
  readonly channels: 1 | 3;
  readonly fit: Fit;
  readonly resize: Resize;
  readonly background: readonly [number, number, number];
}

export interface NumberColumn {
  readonly kind: "number";
  readonly column: string;
  readonly input: number;
  readonly missing: "error" | "fill";
  readonly fill: number;
  readonly subtract: number;
  readonly divide: number;
  readonly indicator: boolean;
}

export interface CategoryColumn {
  readonly kind: "category";
  readonly column: string;
  readonly input: number;
  readonly categories: readonly string[];
  readonly encoding: "one-hot" | "index";
  readonly missing: "error" | "own" | "none";
  readonly unknown: "error" | "own" | "none";
}

export type ColumnRule = NumberColumn | CategoryColumn;

export interface TableRule {
  readonly delimiter: string;
  readonly decimal: string;
  readonly missing: readonly string[];
  readonly columns: readonly ColumnRule[];
  readonly label_columns: readonly string[];
  readonly label: readonly LabelRule[];
}

export interface TokenRule {
  readonly normalize: "none" | "nfc";
  readonly lower: boolean;
  readonly tokenizer: "characters" | "bytes" | "words" | "pairs";
  readonly punctuation: "tokens" | "strip";
  readonly tokens: readonly string[];
  readonly merges: readonly (readonly [number, number])[];
  readonly unknown: "error" | "own" | "drop";
}

export interface TokenizedTextRule extends TokenRule {
  readonly length: number;
  readonly stride: number;
  readonly text_column: string | null;
  readonly label_column: string | null;
  readonly delimiter: string;
  /** Null: windows of text whose label is the next token. */
  readonly label: LabelRule | null;
}

export interface AudioRule {
  /** Samples a second, to which recordings are resampled. */
  readonly rate: number;
  readonly seconds: number;
  /** Samples of a window, and from one to the next. */
  readonly window: number;
  readonly hop: number;
  readonly spectrum: "mel" | "linear";
  readonly bins: number;
  /** The ends of the mel scale in Hz. */
  readonly low: number;
  readonly high: number;
  readonly normalize: "recording" | "none";
}

export interface ArrayRule {
  readonly x: readonly string[];
  readonly y: readonly string[];
}

export type ImageSpec = Common & ImageRule & { readonly kind: "image"; readonly label: LabelRule };
export type TableSpec = Common & TableRule & { readonly kind: "table" };
export type TextSpec = Common & TokenizedTextRule & { readonly kind: "text" };
export type ArraySpec = Common & ArrayRule & { readonly kind: "array" };
export type AudioSpec = Common & AudioRule & { readonly kind: "audio"; readonly label: LabelRule };
export type Preprocess = ImageSpec | TableSpec | TextSpec | ArraySpec | AudioSpec;

/** The requirements for a volunteer's examples. */
export interface DataSpec {
  readonly preprocess: Preprocess;
  readonly volunteer: {
    /** The least and the greatest number of examples of one device. */
    readonly minimum: number;
    readonly maximum: number;
    /** The share of them held out for evaluation. */
    readonly holdout: number;
  };
}
