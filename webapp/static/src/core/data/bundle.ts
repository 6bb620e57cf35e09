/** The manifest of a training bundle; docs/reference/bundle.md is its specification. */

export type Dtype = "float32" | "int32";

export interface TensorSpec {
  readonly shape: readonly number[];
  readonly dtype: Dtype;
}

/** One input, label or output of the model, without batch dimension. */
export interface PartSpec extends TensorSpec {
  readonly name: string;
}

export interface LabelSpec extends PartSpec {
  /** Set if the label is a class number: the number of classes. */
  readonly classes?: number | null;
}

/** A metric, and the rows that it takes in a graph's `metrics` (1 if not given). */
export interface MetricSpec {
  readonly name: string;
  readonly kind: "ratio" | "root" | "sum" | "mean" | "auc";
  readonly rows?: number;
}

export interface NamedTensor extends PartSpec {
  /** Node in the graph. */
  readonly tensor: string;
}

export interface Signature {
  readonly inputs: readonly NamedTensor[];
  readonly outputs: readonly NamedTensor[];
}

export type SignatureName = "train" | "train_slice" | "apply" | "evaluate" | "predict";

export interface Bundle {
  readonly format: "minga-bundle/2";
  readonly name: string;
  readonly batch_size: number;
  readonly parameters: { readonly trainable: number; readonly state: number };
  readonly layout: readonly {
    readonly name: string;
    readonly shape: readonly number[];
    readonly offset: number;
    readonly trainable: boolean;
  }[];
  readonly inputs: readonly PartSpec[];
  readonly labels: readonly LabelSpec[];
  readonly outputs: readonly (PartSpec & { readonly loss: string | null })[];
  readonly metrics: readonly MetricSpec[];
  readonly optimizer: {
    readonly name: string;
    readonly learning_rate: number;
    readonly slots: number;
    readonly hyperparameters: Readonly<Record<string, number | boolean>>;
    readonly schedule: string | null;
  };
  /** A number for all values, or one for each index of the last axis. */
  readonly preprocess: {
    readonly scale?: number | readonly number[];
    readonly offset?: number | readonly number[];
  };
  readonly random: readonly {
    readonly name: string;
    readonly shape: readonly number[];
    readonly kind: "uniform";
  }[];
  /** The rows of a batch of the graph `train_slice`; null if the bundle has none. */
  readonly slice: { readonly batch_size: number } | null;
  readonly signatures: Readonly<Record<Exclude<SignatureName, "train_slice">, Signature>> & {
    readonly train_slice?: Signature;
  };
  readonly ops: Readonly<Record<SignatureName, readonly string[]>>;
  readonly flops: Readonly<Record<SignatureName, number>>;
  readonly files: Readonly<Record<string, { readonly sha256: string; readonly bytes: number }>>;
}
