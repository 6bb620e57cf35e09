/** What page and training worker say to each other. Vectors are transferred, never copied. */

import type { OwnCounts } from "./own-messages";
import type { FailureKind, Setup } from "./recovery";

export type Backend = "webgpu" | "webgl" | "wasm" | "cpu";

export interface Plan {
  readonly epochs: number;
  readonly learningRate: number;
  /** Steps of earlier rounds: where a learning-rate schedule stands. */
  readonly pastSteps: number;
  readonly seed: number;
  /** Addresses (SHA-256) of the data shards; none: the volunteer's own examples. */
  readonly shards: readonly string[];
}

export type ToWorker =
  | {
      readonly type: "load";
      readonly id: number;
      /** Origin of the server, for example `https://example.org`. */
      readonly origin: string;
      /** Address of bundle.json. */
      readonly bundle: string;
      readonly setup: Setup;
    }
  | {
      readonly type: "train";
      readonly id: number;
      /** Address of the version's weights. */
      readonly weights: string;
      readonly plan: Plan;
    }
  | {
      readonly type: "predict";
      readonly id: number;
      readonly weights: string;
      /** One example, raw (before preprocessing). */
      readonly input: Float32Array;
    }
  /** Gives access to the volunteer's own examples, in place of earlier ones; not answered. */
  | { readonly type: "own"; readonly port: MessagePort; readonly counts: OwnCounts }
  /** Ends the training in progress after the current step; what was done so far comes back as `trained`. */
  | { readonly type: "stop" };

export type FromWorker =
  | {
      readonly type: "loaded";
      readonly id: number;
      readonly backend: Backend;
      /** Whether it trains in slices, and whether it could. */
      readonly sliced: boolean;
      readonly sliceable: boolean;
      readonly stepMs: number;
      readonly parameters: number;
    }
  | {
      readonly type: "progress";
      readonly id: number;
      readonly step: number;
      readonly steps: number;
      readonly loss: number;
      readonly metrics: readonly number[];
      readonly stepMs: number;
    }
  | {
      readonly type: "trained";
      readonly id: number;
      /** float32, local minus global; transferred. */
      readonly update: ArrayBuffer;
      readonly examples: number;
      readonly steps: number;
      readonly loss: number;
      /** A numerator and a denominator for each row of the metrics. */
      readonly sums: readonly (readonly [number, number])[];
      readonly stepMs: number;
    }
  | { readonly type: "predicted"; readonly id: number; readonly output: Float32Array }
  | {
      readonly type: "failed";
      readonly id: number;
      readonly message: string;
      /** Set where the backend failed, not the task: a fresh worker may do better. */
      readonly kind: FailureKind | null;
    };
