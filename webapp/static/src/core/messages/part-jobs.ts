/**
 * Calculations of a Byzantine round that the page asks of the averaging worker. Each question has all bytes that it
 * needs: the worker keeps none of them. Vectors are little-endian float32.
 */

import type { Outer } from "../../protocol/wire/mesh";
import type { Bytes } from "../crypto/bytes";
import type { LikenessAgreement, LikenessTolerance } from "../numerics/aggregation/result-agreement";
import type { PartNumbers } from "../numerics/butterfly/part-values";

export type ToPartWorker =
  /** Makes the clipped mean of pieces of `size` values. */
  | {
      readonly type: "make_mean";
      readonly id: number;
      readonly pieces: readonly Bytes[];
      readonly size: number;
      readonly radius: number;
    }
  /**
   * Computes the numbers of the own pieces for the means of all parts, and of all `pieces` of the own `part`. Sizes and
   * radii are those of the parts.
   */
  | {
      readonly type: "check_means";
      readonly id: number;
      readonly means: readonly Bytes[];
      readonly sizes: readonly number[];
      readonly own: readonly Bytes[];
      readonly part: number;
      readonly pieces: readonly Bytes[];
      readonly radii: readonly number[];
      readonly seed: number;
    }
  /** Makes a disputed mean again, with all numbers about it. */
  | {
      readonly type: "remake_mean";
      readonly id: number;
      readonly pieces: readonly Bytes[];
      readonly size: number;
      readonly radius: number;
      readonly seed: number;
      readonly part: number;
    }
  /** Computes what a member `said` of the means of all parts again, from its `pieces`. Sizes and radii are as above. */
  | {
      readonly type: "check_numbers";
      readonly id: number;
      readonly means: readonly Bytes[];
      readonly sizes: readonly number[];
      readonly pieces: readonly Bytes[];
      readonly radii: readonly number[];
      readonly seed: number;
      readonly said: PartNumbers;
    }
  /** Takes the outer step by the means of all parts from the weights `base`; `slots` is the momentum. */
  | {
      readonly type: "take_step";
      readonly id: number;
      readonly outer: Outer;
      readonly base: Bytes;
      readonly slots: Bytes;
      readonly trainable: number;
      readonly means: readonly Bytes[];
      readonly sizes: readonly number[];
    }
  /** Compares work that was done again with pieces that its author committed to. */
  | {
      readonly type: "compare";
      readonly id: number;
      readonly made: readonly Bytes[];
      readonly shown: readonly Bytes[];
      /** The weights that the work began with, and how many steps it has. */
      readonly base: Bytes;
      readonly steps: number;
      /** Null where the same work has the same bits on all devices. */
      readonly tolerance: LikenessTolerance | null;
    };

export type FromPartWorker =
  | { readonly type: "mean_made"; readonly id: number; readonly bytes: Bytes }
  | {
      readonly type: "means_checked";
      readonly id: number;
      readonly products: readonly number[];
      readonly lengths: readonly number[];
      readonly own_products: readonly number[];
      readonly own_lengths: readonly number[];
    }
  | {
      readonly type: "mean_remade";
      readonly id: number;
      readonly bytes: Bytes;
      readonly products: readonly number[];
      readonly lengths: readonly number[];
    }
  | { readonly type: "numbers_checked"; readonly id: number; readonly are_right: boolean }
  | { readonly type: "step_taken"; readonly id: number; readonly weights: Bytes; readonly slots: Bytes }
  | {
      readonly type: "compared";
      readonly id: number;
      readonly found: LikenessAgreement;
      /** As in `Likeness`; null where bytes decide. */
      readonly distance: number | null;
    };
