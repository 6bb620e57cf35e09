/** What a participant's host tells the machine, and what the machine asks of it. */

import type { ContactEffect, ContactEvent } from "../client/connection";
import type { EvaluationEffect, VersionMeasured } from "../client/evaluation";
import type { ClientFrame, FrameOf, ServerFrame } from "../wire/messages";

export type Hello = FrameOf<"hello">;
export type Ready = FrameOf<"ready">;
export type Train = FrameOf<"train">;
export type Offer = FrameOf<"offer">;

/** What the host tells the machine. */
export type ParticipantEvent =
  /** Take part from now on; `hello` is sent on every connection (its backend becomes the loaded one). */
  | { readonly type: "start"; readonly hello: Hello }
  | ContactEvent
  | { readonly type: "frame"; readonly frame: ServerFrame }
  /**
   * The bundle of the last `load` effect is ready; one step took `step_ms` milliseconds. `examples` are the client's
   * own training examples, 0 where the task deals out shards.
   */
  | ({ readonly type: "loaded" } & Omit<Ready, "type">)
  /**
   * The update of `round`, `size` bytes long, is ready, perhaps after fewer steps than planned. Never reported after
   * `abort_training`, nor without a whole step.
   */
  | ({ readonly type: "trained" } & Omit<Offer, "type" | "version">)
  | VersionMeasured;

/** Load and train, as in every round. */
export type RoundEffect =
  /** Fetch and load the bundle at this address; then report `loaded`. */
  | { readonly type: "load"; readonly bundle: string }
  /** Train by this plan; then report `trained`. */
  | { readonly type: "train"; readonly plan: Train }
  /** End the training in progress and throw its result away. */
  | { readonly type: "abort_training" };

/** What the machine asks of the host, in order. */
export type ParticipantEffect =
  | ContactEffect<ClientFrame>
  | RoundEffect
  | EvaluationEffect
  /** The update of `round` counts: add the change that it made to the client's own control variate. */
  | { readonly type: "keep_change"; readonly round: number }
  /** The update of `round` is in no version after all: take its change back out. */
  | { readonly type: "undo_change"; readonly round: number }
  /** Send bytes [from, until) of the update of `round` as chunk frames. */
  | { readonly type: "send_chunks"; readonly round: number; readonly from: number; readonly until: number };
