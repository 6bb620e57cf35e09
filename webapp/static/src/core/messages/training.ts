/** What page and training worker say to each other. Vectors are transferred, never copied. */

import type { Backend } from "../backend";
import type { FailureKind, Setup } from "../backend-recovery";
import type { MetricSpec } from "../data/bundle";
import type { MistakeFindings } from "../data/mistakes";
import type { Walk } from "../numerics/batches";
import type { PartitionedData } from "../numerics/partition";
import type { OwnCounts } from "./local-data";

/** [numerator, denominator] of each row of the bundle's metrics. */
export type MetricTotals = readonly (readonly [number, number])[];

/** SCAFFOLD's control variates: the server's by its address, this client's own by the name it is kept under. */
export interface ControlVariates {
  readonly server: string;
  readonly storedAs: string;
  /** The version that the plan begins with. */
  readonly version: number;
}

/** Gradients of `microbatch` examples at a time are cut to the L2 norm `clip`; a step's sum gets `noise` times that. */
export interface ExampleClip {
  readonly clip: number;
  readonly noise: number;
  readonly microbatch: number;
}

/** The whole update is clipped to the L2 norm `clip`, and each value noised with `noise` times that. */
export interface Protection {
  readonly clip: number;
  readonly noise: number;
}

/** Consecutive examples, numbered as in a plan's shards. */
export interface Rows {
  readonly first: number;
  readonly count: number;
}

/**
 * A training that does not begin at the plan's weights but at the client's `own` last ones (float32), drawn towards those
 * by `elasticity` (EASGD).
 */
export interface UnitStart {
  readonly own: ArrayBuffer;
  readonly elasticity: number;
}

/** What makes a plan a work unit. */
export interface UnitPlan {
  readonly lease: number;
  /** Of the shard's examples, those that are trained on. */
  readonly rows: Rows;
  /** Null: at the plan's weights. */
  readonly start: UnitStart | null;
}

export interface TrainingPlan extends Walk {
  readonly learningRate: number;
  /** Steps of earlier rounds: where a learning-rate schedule stands. */
  readonly pastSteps: number;
  /** FedProx: pulls each step back towards the version; 0 does not. */
  readonly proximalMu: number;
  readonly control: ControlVariates | null;
  readonly privacy: ExampleClip | null;
  readonly protection: Protection | null;
  /** Milliseconds of `clock` when the training must end; null: with its last step. */
  readonly until: number | null;
  /** Addresses (SHA-256) of the data shards; none: the volunteer's own examples. */
  readonly shards: readonly string[];
  /** Null: a round's plan. */
  readonly unit: UnitPlan | null;
}

/** Held-out examples to measure a version on: shards by their addresses, or none for the volunteer's own. */
export interface EvaluationPlan {
  readonly shards: readonly string[];
  /** As in a plan. */
  readonly until: number | null;
}

/** A clock that pages and their workers share, in milliseconds; nobody sets it while they run. */
export function clock(): number {
  return performance.timeOrigin + performance.now();
}

/** A version's weights: their address at the server, or where a peer has them itself, the float32 values. */
export type WeightsSource = string | ArrayBuffer;

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
      readonly weights: WeightsSource;
      readonly plan: TrainingPlan;
    }
  | {
      readonly type: "measure";
      readonly id: number;
      readonly weights: WeightsSource;
      readonly exam: EvaluationPlan;
    }
  /** The change of the client's control variate counts and is kept for later rounds, or (`undo`) does not after all. */
  | {
      readonly type: "keep";
      readonly id: number;
      readonly control: ControlVariates;
      /** float32, transferred. */
      readonly change: ArrayBuffer;
      readonly undo: boolean;
    }
  /**
   * What a version answers to examples of these shards, which nobody trains on where they are `aside`, or without any to
   * the volunteer's own. Other work comes first: then it ends after the batch in hand.
   */
  | {
      readonly type: "examine";
      readonly id: number;
      readonly weights: WeightsSource;
      readonly shards: readonly string[];
      readonly aside: boolean;
    }
  /** Gives access to the volunteer's own examples, or to those that all clients fetch, in place of earlier ones; not answered. */
  | {
      readonly type: "own";
      readonly port: MessagePort;
      readonly counts: OwnCounts;
      readonly dealt: PartitionedData | null;
    }
  /** Fetches the files of a work unit that comes next, while other work goes on. */
  | {
      readonly type: "fetch";
      readonly id: number;
      readonly lease: number;
      readonly origin: string;
      readonly weights: string;
      readonly shard: string;
    }
  /** The files that were fetched for this lease are not needed any more; not answered. */
  | { readonly type: "forget"; readonly lease: number }
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
      /** How many of them, the first, are trained; the others are statistics. */
      readonly trainable: number;
      /** Rows of the bundle's metrics: pairs in the sums of a training. */
      readonly rows: number;
      readonly metrics: readonly MetricSpec[];
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
      /** Where the training of a work unit ended, float32, transferred; null for a round's plan. */
      readonly local: ArrayBuffer | null;
      /** How the client's control variate changes if the update counts; float32, transferred, null without one. */
      readonly change: ArrayBuffer | null;
      readonly examples: number;
      /** Fewer than planned where the time was short. */
      readonly steps: number;
      readonly planned: number;
      readonly loss: number;
      readonly sums: MetricTotals;
      readonly stepMs: number;
    }
  | {
      readonly type: "measured";
      readonly id: number;
      readonly examples: number;
      readonly loss: number;
      readonly sums: MetricTotals;
    }
  | { readonly type: "kept"; readonly id: number }
  | { readonly type: "fetched"; readonly id: number }
  /** Null where the model's answers are no classes. */
  | { readonly type: "examined"; readonly id: number; readonly findings: MistakeFindings | null }
  | {
      readonly type: "failed";
      readonly id: number;
      readonly message: string;
      /** Set where the backend failed, not the task: a fresh worker may do better. */
      readonly kind: FailureKind | null;
    };
