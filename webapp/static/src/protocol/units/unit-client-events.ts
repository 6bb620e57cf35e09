/** What the host of a client of work units tells its machine, and what the machine asks of it. */

import type { ContactEffect, ContactEvent } from "../client/connection";
import type { Ready } from "../rounds/participant-events";
import type { Cause, ServerToUnits, UnitsFrameOf, UnitsToServer } from "../wire/units";

export type Enlist = UnitsFrameOf<"enlist">;
export type Unit = UnitsFrameOf<"unit">;
export type Result = UnitsFrameOf<"result">;
export type Board = UnitsFrameOf<"board">;
export type Standing = UnitsFrameOf<"standing">;
export type IdleCause = UnitsFrameOf<"idle">["cause"];

/** Hold up to `slots` units and train `at_once` of them. */
interface UnitSlots {
  readonly slots: number;
  readonly at_once: number;
}

/** What the host tells the machine. */
export type UnitClientEvent =
  /** Take part from now on; `enlist` is said on every connection, with the backend and shards that there are by then. */
  | ({ readonly type: "start"; readonly enlist: Enlist } & UnitSlots)
  | ContactEvent
  | { readonly type: "frame"; readonly frame: ServerToUnits }
  /** The bundle of the last `load` is ready; one step took `step_ms` milliseconds. */
  | ({ readonly type: "loaded" } & Pick<Ready, "backend" | "step_ms">)
  /** From now on; with no slots what is held is still done, and no more is taken. */
  | ({ readonly type: "want" } & UnitSlots)
  /** What `fetch` asked for is here. Never reported after `forget`. */
  | { readonly type: "fetched"; readonly lease: number }
  /**
   * The result of `lease`, `size` bytes long, is ready, perhaps after fewer steps than planned. Never reported after
   * `forget`, nor without a whole step.
   */
  | ({ readonly type: "trained" } & Omit<Result, "type">)
  /** `lease` could not be fetched or trained, or was to finish before its first step. */
  | { readonly type: "failed"; readonly lease: number; readonly cause: Cause }
  /** The unit's `heartbeat` seconds are over again; `steps` were taken so far. */
  | { readonly type: "pulse"; readonly lease: number; readonly steps: number }
  /** Give back at once what is held without a result. */
  | { readonly type: "give_back"; readonly cause: Cause }
  /** Take no more units, send what was done of those in training, and give the others back. */
  | { readonly type: "wind_down"; readonly cause: Cause };

/** What the machine asks of the host, in order. */
export type UnitClientEffect =
  | ContactEffect<UnitsToServer>
  /** Fetch and load the bundle at this address; then report `loaded`. */
  | { readonly type: "load"; readonly bundle: string }
  /** Get the shard and the weights of `unit`; then report `fetched`, or `failed`. */
  | { readonly type: "fetch"; readonly unit: Unit }
  /** Train `unit`, which was fetched; then report `trained`, or `failed`. */
  | { readonly type: "train"; readonly unit: Unit }
  /** End the training of `lease` after its present step; then report `trained`, or `failed`. */
  | { readonly type: "finish"; readonly lease: number }
  /** `lease` is over here: end what goes on of it and throw away what is kept for it. */
  | { readonly type: "forget"; readonly lease: number }
  /** Send bytes [from, until) of the result of `lease` as chunk frames. */
  | { readonly type: "send_chunks"; readonly lease: number; readonly from: number; readonly until: number };
