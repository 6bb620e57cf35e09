/**
 * What the host of a group's member tells the machine, and what the machine asks of it. Members are named by their places.
 * The host has all bytes: own pieces, those that came, and means, which it keeps by part and digest.
 * `backend/protocols/mesh/allreduce/group_events.py` is the twin.
 */

import type { GroupFrame } from "../wire/mesh";

export type Places = readonly number[];

/** Frames that the machine says and hears; pieces and means are bytes, and go by events and effects of their own. */
export type Control = Exclude<GroupFrame, { readonly type: "piece" | "mean" | "attest" }>;

export type Event =
  /**
   * The own vector is encoded: its weight in the mean, and the SHA-256 of each piece (none in a ring). Where pieces are masked
   * there is none either, but the own public `key` of this group.
   */
  | {
      readonly type: "prepared";
      readonly weight: number;
      readonly commitments: readonly Uint8Array[];
      readonly key: Uint8Array;
    }
  /** The member at `place` said something. */
  | { readonly type: "heard"; readonly place: number; readonly frame: Control }
  /** All bytes of a piece are here, with their SHA-256; `contributors` as in the frame `piece`. */
  | {
      readonly type: "piece_came";
      readonly place: number;
      readonly part: number;
      readonly contributors: Places;
      readonly digest: Uint8Array;
    }
  /** All bytes of a mean are here. `digest` is that of contributors and bytes (0025, "The group machine"). */
  | {
      readonly type: "mean_came";
      readonly place: number;
      readonly part: number;
      readonly contributors: Places;
      readonly digest: Uint8Array;
    }
  /** What `reduce` asked for is made and encoded; the host keeps it by `digest`. */
  | {
      readonly type: "reduced";
      readonly part: number;
      readonly contributors: Places;
      readonly digest: Uint8Array;
    }
  /**
   * Bytes of that member are of no use: a wrong length, NaN, garbage. `reason` is for people. With the own place: its own
   * vector cannot be averaged.
   */
  | { readonly type: "unfit"; readonly place: number; readonly reason: string }
  /** There is a link to that member, or it is heard of again after silence. At first nobody is linked. */
  | { readonly type: "linked"; readonly place: number }
  /** The link is down, and with it what was on its way on it. */
  | { readonly type: "lost"; readonly place: number }
  /** Not a byte came from that member for the patience; `linked` when one comes again. */
  | { readonly type: "silent"; readonly place: number }
  /** The time that `timer` named has come. */
  | { readonly type: "time_passed" };

/** Performed in order. */
export type Effect =
  /** Say this to each of `places`; it may be lost where there is no link. */
  | { readonly type: "send"; readonly places: Places; readonly frame: Control }
  /**
   * Send the own piece of `part`, from its first byte on, with `contributors` in the frame. They are empty where nothing is
   * masked. Else they are the set that the piece is masked for, and `weights` are theirs: the own values are multiplied by the
   * own share of them.
   */
  | {
      readonly type: "send_piece";
      readonly part: number;
      readonly place: number;
      readonly contributors: Places;
      readonly weights: readonly number[];
    }
  /**
   * In a ring: send on the sum of `contributors` that came from `source`, with the own piece added to it. Where the ring of
   * this part begins, `contributors` is empty and `source` null. Own values are multiplied by `weight`. In the frame that
   * goes to `place`, `contributors` are these and the own place.
   */
  | {
      readonly type: "add_piece";
      readonly part: number;
      readonly source: number | null;
      readonly contributors: Places;
      readonly weight: number;
      readonly place: number;
    }
  /**
   * Make the mean of `part` of the pieces of `contributors`, by place, with these weights; answer `reduced`. In a ring
   * `source` is whom the sum of all others came from, and only the own piece is to be added, last. Where a piece is of no
   * use, answer `unfit` instead.
   */
  | {
      readonly type: "reduce";
      readonly part: number;
      readonly contributors: Places;
      readonly weights: readonly number[];
      readonly source: number | null;
    }
  /** Send the mean of `part` that has this digest to each of `places`. */
  | {
      readonly type: "send_mean";
      readonly part: number;
      readonly digest: Uint8Array;
      readonly places: Places;
    }
  /** The group goes on without that member: what still waits to be sent to it need not go. */
  | { readonly type: "without"; readonly place: number }
  /**
   * The result: by part, the digest of its mean (all are here) and who is in it. `survivors` all have it; `weights` are
   * those of all members, by place, 0 where nobody left knows; `fraction` is how much of all weight is in the result.
   */
  | {
      readonly type: "finish";
      readonly parts: readonly Uint8Array[];
      readonly contributors: readonly Places[];
      readonly survivors: Places;
      readonly weights: readonly number[];
      readonly fraction: number;
    }
  /** This member has no result of this group; `reason` is for people. */
  | { readonly type: "fail"; readonly reason: string };
