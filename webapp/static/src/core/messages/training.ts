/** Messages between the page and the training worker. Vectors are transferred, never copied. */

import type { Backend } from "../backend";
import type { FailureKind, Setup } from "../backend-recovery";
import type { MetricSpec } from "../data/bundle";
import type { MistakeFindings } from "../data/mistakes";
import type { Walk } from "../numerics/batches";
import type { PartitionedData } from "../numerics/partition";
import type { UserMessage } from "../user-messages";
import type { OwnCounts } from "./local-data";
import type { Trace, TracedValue, TraceRequest } from "./tracing";

/** [numerator, denominator] of each row of the bundle's metrics. */
export type MetricTotals = readonly (readonly [number, number])[];

/**
 * SCAFFOLD's control variates: the server's by its address, this client's own by the name that it is stored under.
 */
export interface ControlVariates {
  readonly server: string;
  readonly storedAs: string;
  /** The version that the plan begins with. */
  readonly version: number;
}

/**
 * Gradients of `microbatch` examples at a time are clipped to the L2 norm `clip`; a step's sum gets noise of `noise`
 * times that.
 */
export interface ExampleClip {
  readonly clip: number;
  readonly noise: number;
  readonly microbatch: number;
}

/** The whole update is clipped to the L2 norm `clip`, and each value gets noise of `noise` times that. */
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
 * The start of a training at the client's `own` last weights (float32) instead of the plan's, pulled towards those by
 * `elasticity` (EASGD).
 */
export interface UnitStart {
  readonly own: ArrayBuffer;
  readonly elasticity: number;
}

/** The part of a plan that makes it a work unit. */
export interface UnitPlan {
  readonly lease: number;
  /** The rows of the shard that are trained on. */
  readonly rows: Rows;
  /** Null for a start at the plan's weights. */
  readonly start: UnitStart | null;
  /** Whether weights are hashed at checkpoints (core/numerics/checkpoints.ts). */
  readonly checkpoints: boolean;
}

export interface TrainingPlan extends Walk {
  readonly learningRate: number;
  /** Steps of earlier rounds: the position in a learning-rate schedule. */
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
  /** Null for a round's plan. */
  readonly unit: UnitPlan | null;
}

/** Held-out examples for evaluating a version: shards by their addresses, or none for the volunteer's own. */
export interface EvaluationPlan {
  readonly shards: readonly string[];
  /** As in a plan. */
  readonly until: number | null;
}

/** Returns milliseconds of a clock that pages and their workers share, and that is never set while they run. */
export function clock(): number {
  return performance.timeOrigin + performance.now();
}

/** The state of a training between two steps, from which the training can continue with the same result. */
export interface TrainingState {
  readonly steps: number;
  /** float32. */
  readonly weights: ArrayBuffer;
  /** The optimizer's values, float32, slot after slot. */
  readonly slots: ArrayBuffer;
  /** float64: examples, the sum of their losses, and the sums of the metrics. */
  readonly totals: ArrayBuffer;
  /** The SHA-256 of the weights after some of the steps (core/numerics/checkpoints.ts). */
  readonly hashes: readonly string[];
}

/** The file of a unit's checkpoints on this device (workers/training/checkpoint-file.ts). */
export interface CheckpointPlace {
  readonly task: string;
  /** The hash of all that the result depends on. */
  readonly key: string;
  readonly lease: number;
}

/** How a training saves its state; it continues from a saved one. */
export interface StateSaving {
  /** Milliseconds between two states. */
  readonly every: number;
  /** Null for one that reads its state from the place, or begins. */
  readonly state: TrainingState | null;
  /** Null for one that tells its states. */
  readonly place: CheckpointPlace | null;
}

/** A version's weights: their address at the server, or the float32 values if a peer has them itself. */
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
      /** Set for a training that is traced. */
      readonly trace?: TraceRequest;
      /** Set for a training that saves its state. */
      readonly saving?: StateSaving | undefined;
    }
  /** Computes one tensor of the training step from its inputs, in the order in which a trace gave them. */
  | {
      readonly type: "compute";
      readonly id: number;
      readonly tensor: string;
      readonly inputs: readonly TracedValue[];
    }
  | {
      readonly type: "measure";
      readonly id: number;
      readonly weights: WeightsSource;
      readonly plan: EvaluationPlan;
    }
  /**
   * Stores the change of the client's control variate for later rounds, since its update counts, or with `undo`
   * subtracts it again.
   */
  | {
      readonly type: "keep";
      readonly id: number;
      readonly control: ControlVariates;
      /** float32, transferred. */
      readonly change: ArrayBuffer;
      readonly undo: boolean;
    }
  /**
   * Evaluates a version's answers to examples of these shards, which are held out if `aside` is set, or without
   * shards to the volunteer's own. Other work has priority, and ends this after the current batch.
   */
  | {
      readonly type: "examine";
      readonly id: number;
      readonly weights: WeightsSource;
      readonly shards: readonly string[];
      readonly aside: boolean;
    }
  /**
   * Gives access to the volunteer's own examples, or to those that all clients fetch, in place of earlier ones; not
   * answered.
   */
  | {
      readonly type: "own";
      readonly port: MessagePort;
      readonly counts: OwnCounts;
      readonly dealt: PartitionedData | null;
    }
  /** Fetches the files of a later work unit, while other work continues. */
  | {
      readonly type: "fetch";
      readonly id: number;
      readonly lease: number;
      readonly origin: string;
      readonly weights: string;
      readonly shard: string;
    }
  /** The files fetched for this lease are no longer needed; not answered. */
  | { readonly type: "forget"; readonly lease: number }
  /** Ends the current work after the current step; what was done so far is answered as `trained` or `measured`. */
  | { readonly type: "stop" };

export type FromWorker =
  | {
      readonly type: "loaded";
      readonly id: number;
      readonly backend: Backend;
      /** Whether it trains in slices, and whether the bundle allows it. */
      readonly sliced: boolean;
      readonly sliceable: boolean;
      readonly stepMs: number;
      readonly parameters: number;
      /** How many of the values, from the first on, are trained; the others are statistics. */
      readonly trainable: number;
      /** How many values all inputs and labels of an example have. */
      readonly exampleValues: number;
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
  /** The state of a training that saves it in no file; transferred. */
  | ({ readonly type: "state"; readonly id: number } & TrainingState)
  | {
      readonly type: "trained";
      readonly id: number;
      /** float32, local minus global; transferred. */
      readonly update: ArrayBuffer;
      /** The weights at the end of a work unit's training, float32, transferred; null for a round's plan. */
      readonly local: ArrayBuffer | null;
      /** The change of the client's control variate if the update counts; float32, transferred, null without one. */
      readonly change: ArrayBuffer | null;
      readonly examples: number;
      /** Fewer than planned if the time was too short. */
      readonly steps: number;
      readonly planned: number;
      readonly loss: number;
      readonly sums: MetricTotals;
      readonly stepMs: number;
      /** The SHA-256 of a unit's weights at its checkpoints, if its plan has them. */
      readonly checkpoints: readonly string[];
      /** Set if it was asked for. */
      readonly trace?: Trace;
    }
  /** The SHA-256 of the tensor, as in a trace. */
  | { readonly type: "computed"; readonly id: number; readonly hash: string }
  | {
      readonly type: "measured";
      readonly id: number;
      readonly examples: number;
      readonly loss: number;
      readonly sums: MetricTotals;
    }
  | { readonly type: "kept"; readonly id: number }
  | { readonly type: "fetched"; readonly id: number }
  /** Null if the model's answers are no classes. */
  | { readonly type: "examined"; readonly id: number; readonly findings: MistakeFindings | null }
  | {
      readonly type: "failed";
      readonly id: number;
      readonly problem: UserMessage;
      /** Set if the backend failed, not the task: a new worker may succeed. */
      readonly kind: FailureKind | null;
      /** Whether another attempt on this device fails, too. */
      readonly lasting: boolean;
    };
