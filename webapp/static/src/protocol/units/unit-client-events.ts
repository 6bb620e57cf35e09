/** Events that the host of a work-unit client reports, and effects that the machine asks for. */

import type { ConnectionEffect, ConnectionEvent } from "../client/connection";
import type { Ready } from "../rounds/participant-events";
import type { Cause, ServerToUnits, UnitsFrameOf, UnitsToServer } from "../wire/units";

export type Enlist = UnitsFrameOf<"enlist">;
export type Unit = UnitsFrameOf<"unit">;
export type Result = UnitsFrameOf<"result">;
export type Board = UnitsFrameOf<"board">;
export type Standing = UnitsFrameOf<"standing">;
export type IdleCause = UnitsFrameOf<"idle">["cause"];

/**
 * Hold up to `slots` units and train `at_once` of them. Their leases shall last `offline` seconds longer, without a
 * connection.
 */
interface UnitSlots {
  readonly slots: number;
  readonly at_once: number;
  readonly offline?: number;
}

/** An event that the host reports to the machine. */
export type UnitClientEvent =
  /**
   * Take part from now on. `enlist` is sent on every connection, with the backend and shards current at that time.
   */
  | ({ readonly type: "start"; readonly enlist: Enlist } & UnitSlots)
  | ConnectionEvent
  | { readonly type: "frame"; readonly frame: ServerToUnits }
  /**
   * The bundle of the last `load` is ready; one step took `step_ms` milliseconds. `checkpointed` are leases of an
   * earlier session, which gave them back, and of which there are checkpoints.
   */
  | ({ readonly type: "loaded"; readonly checkpointed?: readonly number[] } & Pick<
      Ready,
      "backend" | "step_ms" | "program"
    >)
  /** The new number of slots. Without slots the client finishes the units that it holds and takes no more. */
  | ({ readonly type: "want" } & UnitSlots)
  /** The shard and weights that `fetch` asked for have arrived. Never reported after `forget`. */
  | { readonly type: "fetched"; readonly lease: number }
  /**
   * The result of `lease` is ready: `size` bytes, perhaps after fewer steps than planned, but never after none. Never
   * reported after `forget`. `salt` belongs to its commitment, if it has one.
   */
  | ({ readonly type: "trained"; readonly salt: string | null } & Omit<Result, "type">)
  /** `lease` could not be fetched or trained, or was ended before its first step. */
  | { readonly type: "failed"; readonly lease: number; readonly cause: Cause }
  /** Another `heartbeat` interval of the unit has passed; `steps` is the number of steps so far. */
  | { readonly type: "pulse"; readonly lease: number; readonly steps: number }
  /** Give back immediately all units without a result. */
  | { readonly type: "give_back"; readonly cause: Cause }
  /** Take no more units, send the partial results of those in training, and give the others back. */
  | { readonly type: "wind_down"; readonly cause: Cause };

/** An effect that the machine asks of the host. Effects are performed in order. */
export type UnitClientEffect =
  | ConnectionEffect<UnitsToServer>
  /** Fetch and load the bundle at this address; then report `loaded`. */
  | { readonly type: "load"; readonly bundle: string }
  /** Get the shard and the weights of `unit`; then report `fetched`, or `failed`. */
  | { readonly type: "fetch"; readonly unit: Unit }
  /** Train `unit`, which was fetched; then report `trained`, or `failed`. */
  | { readonly type: "train"; readonly unit: Unit }
  /** End the training of `lease` after its current step; then report `trained`, or `failed`. */
  | { readonly type: "finish"; readonly lease: number }
  /** End all work on `lease` and delete its data. */
  | { readonly type: "forget"; readonly lease: number }
  /** Send bytes [from, until) of the result of `lease` as chunk frames. */
  | { readonly type: "send_chunks"; readonly lease: number; readonly from: number; readonly until: number };
