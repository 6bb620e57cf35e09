/**
 * Messages between the page and the averaging worker of a group. The worker has all bytes of one group at a time: the
 * own vector, the pieces of other members, and means, by their digests. docs/reference/mesh.md has the protocol.
 */

import type { Bytes } from "../crypto/bytes";
import type { PadContext } from "../crypto/pads";
import type { Reducer } from "../numerics/aggregation/part-mean";
import type { Precision } from "../numerics/aggregation/precision";
import type { PartSubject } from "../numerics/masking/masked-parts";
import type { UserMessage } from "../user-messages";
import type { FromPartWorker, ToPartWorker } from "./part-jobs";

type PlaceList = readonly number[];

export type ToAverager =
  | ToPartWorker
  /** Begins with a group, and drops the one before. */
  | {
      readonly type: "prepare";
      readonly id: number;
      /** float32, transferred. */
      readonly vector: ArrayBuffer;
      readonly place: number;
      /** Part i is the values from `bounds[i]` to `bounds[i + 1]`. */
      readonly bounds: PlaceList;
      readonly precision: Precision | "masked";
      readonly subject: PartSubject;
      readonly reducer: Reducer;
      /** Whether pieces are committed to beforehand: not in a ring, and not if they are masked. */
      readonly commit: boolean;
      /** The context that masks are bound to. */
      readonly context: PadContext;
    }
  /** Stores another member's key of this group; the first one counts. */
  | { readonly type: "keep_key"; readonly id: number; readonly place: number; readonly key: Uint8Array }
  /** Makes the own piece of a part, encoded; masked for `contributors`, with their weights, if there are any. */
  | {
      readonly type: "make_piece";
      readonly id: number;
      readonly part: number;
      readonly contributors: PlaceList;
      readonly weights: readonly number[];
    }
  /** Stores a member's piece of a part, transferred; `contributors` as in the frame `piece`. */
  | {
      readonly type: "keep_piece";
      readonly id: number;
      readonly place: number;
      readonly part: number;
      readonly contributors: PlaceList;
      readonly bytes: Bytes;
    }
  /** In a ring: adds the own values times `weight` to the sum from `source` (null: none yet). */
  | {
      readonly type: "add_piece";
      readonly id: number;
      readonly part: number;
      readonly source: number | null;
      readonly weight: number;
    }
  /**
   * Computes and stores the mean of `contributors`' pieces; in a ring `source` has sent the sum of all but the own.
   */
  | {
      readonly type: "reduce";
      readonly id: number;
      readonly part: number;
      readonly contributors: PlaceList;
      readonly weights: readonly number[];
      readonly source: number | null;
    }
  /** Stores a mean that the member at `place` sent, transferred. */
  | {
      readonly type: "keep_mean";
      readonly id: number;
      readonly place: number;
      readonly part: number;
      readonly contributors: PlaceList;
      readonly bytes: Bytes;
    }
  /** Copies the bytes of a stored mean. */
  | { readonly type: "copy_mean"; readonly id: number; readonly part: number; readonly digest: Uint8Array }
  /** Takes the whole result: the mean of each part that has the digest of it in `parts`. Ends the group. */
  | { readonly type: "take"; readonly id: number; readonly parts: readonly Uint8Array[] };

export type FromAverager =
  | FromPartWorker
  /**
   * SHA-256 of each encoded piece, if they are committed to; the own public key of this group, if they are masked.
   */
  | {
      readonly type: "prepared";
      readonly id: number;
      readonly commitments: readonly Bytes[];
      readonly key: Bytes;
    }
  | { readonly type: "key_kept"; readonly id: number }
  /** Transferred. */
  | { readonly type: "piece_made"; readonly id: number; readonly bytes: Bytes }
  /** SHA-256 of its bytes. */
  | { readonly type: "piece_kept"; readonly id: number; readonly digest: Bytes }
  /** The digest covers contributors and bytes. */
  | { readonly type: "mean_kept"; readonly id: number; readonly digest: Bytes }
  /** Transferred. */
  | {
      readonly type: "mean_copied";
      readonly id: number;
      readonly contributors: PlaceList;
      readonly bytes: Bytes;
    }
  /** float32, transferred. */
  | { readonly type: "taken"; readonly id: number; readonly vector: Float32Array<ArrayBuffer> }
  /** What the member at `place` sent is unusable; `reason` is for people. */
  | { readonly type: "unfit"; readonly id: number; readonly place: number; readonly reason: string }
  /** `problem` is for people. */
  | { readonly type: "failed"; readonly id: number; readonly problem: UserMessage };

/** What the member at `place` sent is unusable. */
export class UnfitMember extends Error {
  override readonly name = "UnfitMember";

  constructor(
    readonly place: number,
    reason: string,
  ) {
    super(reason);
  }
}
