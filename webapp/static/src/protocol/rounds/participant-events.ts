/** Events that a participant's host reports to its machine, and effects that the machine asks for. */

import type { ConnectionEffect, ConnectionEvent } from "../client/connection";
import type { EvaluationEffect, VersionMeasured } from "../client/evaluation";
import type { ClientFrame, FrameOf, ServerFrame } from "../wire/messages";

export type Hello = FrameOf<"hello">;
export type Ready = FrameOf<"ready">;
export type Train = FrameOf<"train">;
export type Offer = FrameOf<"offer">;

/** An event that the host reports to the machine. */
export type ParticipantEvent =
  /**
   * Take part from now on. `hello` is sent on every connection, with the backend that is loaded by then. The client
   * leaves a task whose clients add less noise than `min_noise` times the clip.
   */
  | { readonly type: "start"; readonly hello: Hello; readonly min_noise: number }
  | ConnectionEvent
  | { readonly type: "frame"; readonly frame: ServerFrame }
  /**
   * The bundle of the last `load` effect is ready; one step took `step_ms` milliseconds. `examples` is the number of
   * the client's own training examples, 0 if the task assigns shards.
   */
  | ({ readonly type: "loaded" } & Omit<Ready, "type">)
  /**
   * The update of `round` is ready: `size` bytes, perhaps after fewer steps than planned, but never after none. Never
   * reported after `abort_training`.
   */
  | ({ readonly type: "trained" } & Omit<Offer, "type" | "version">)
  | VersionMeasured;

/** Effects that load and train, common to all schemes with rounds. */
export type RoundEffect =
  /** Fetch and load the bundle at this address; then report `loaded`. */
  | { readonly type: "load"; readonly bundle: string }
  /** Train by this plan; then report `trained`. */
  | { readonly type: "train"; readonly plan: Train }
  /** End the training in progress and discard its result. */
  | { readonly type: "abort_training" };

/** An effect that the machine asks of the host. Effects are performed in order. */
export type ParticipantEffect =
  | ConnectionEffect<ClientFrame>
  | RoundEffect
  | EvaluationEffect
  /** The update of `round` counts: add its change to the client's own control variate. */
  | { readonly type: "keep_change"; readonly round: number }
  /** The update of `round` is in no version after all: subtract its change from the control variate. */
  | { readonly type: "undo_change"; readonly round: number }
  /** Send bytes [from, until) of the update of `round` as chunk frames. */
  | { readonly type: "send_chunks"; readonly round: number; readonly from: number; readonly until: number };
