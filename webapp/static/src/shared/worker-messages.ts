/** What page and training worker say to each other. Vectors are transferred, never copied. */

import type { Walk } from "./batches";
import type { OwnCounts } from "./own-messages";
import type { FailureKind, Setup } from "./recovery";

/** [numerator, denominator] of each row of the bundle's metrics. */
export type Sums = readonly (readonly [number, number])[];

export type Backend = "webgpu" | "webgl" | "wasm" | "cpu";

/** SCAFFOLD's control variates: the server's by its address, this client's own by the name it is kept under. */
export interface Control {
  readonly server: string;
  readonly kept: string;
  /** The version that the plan begins with. */
  readonly version: number;
}

export interface Plan extends Walk {
  readonly learningRate: number;
  /** Steps of earlier rounds: where a learning-rate schedule stands. */
  readonly pastSteps: number;
  /** FedProx: pulls each step back towards the version; 0 does not. */
  readonly proximalMu: number;
  readonly control: Control | null;
  /** Milliseconds of `clock` when the training must end; null: with its last step. */
  readonly until: number | null;
  /** Addresses (SHA-256) of the data shards; none: the volunteer's own examples. */
  readonly shards: readonly string[];
}

/** Held-out examples to measure a version on: shards by their addresses, or none for the volunteer's own. */
export interface Exam {
  readonly shards: readonly string[];
  /** As in a plan. */
  readonly until: number | null;
}

/** A clock that pages and their workers share, in milliseconds; nobody sets it while they run. */
export function clock(): number {
  return performance.timeOrigin + performance.now();
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
      readonly type: "measure";
      readonly id: number;
      /** Address of the version's weights. */
      readonly weights: string;
      readonly exam: Exam;
    }
  /** The change of the client's control variate counts and is kept for later rounds, or (`undo`) does not after all. */
  | {
      readonly type: "keep";
      readonly id: number;
      readonly control: Control;
      /** float32, transferred. */
      readonly change: ArrayBuffer;
      readonly undo: boolean;
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
  /** Ends the work in progress after the current step; what was done so far comes back as `trained` or `measured`. */
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
      readonly stepMs: number;
    }
  | {
      readonly type: "trained";
      readonly id: number;
      /** float32, local minus global; transferred. */
      readonly update: ArrayBuffer;
      /** How the client's control variate changes if the update counts; float32, transferred, null without one. */
      readonly change: ArrayBuffer | null;
      readonly examples: number;
      /** Fewer than planned where the time was short. */
      readonly steps: number;
      readonly planned: number;
      readonly loss: number;
      readonly sums: Sums;
      readonly stepMs: number;
    }
  | {
      readonly type: "measured";
      readonly id: number;
      readonly examples: number;
      readonly loss: number;
      readonly sums: Sums;
    }
  | { readonly type: "kept"; readonly id: number }
  | { readonly type: "predicted"; readonly id: number; readonly output: Float32Array }
  | {
      readonly type: "failed";
      readonly id: number;
      readonly message: string;
      /** Set where the backend failed, not the task: a fresh worker may do better. */
      readonly kind: FailureKind | null;
    };
