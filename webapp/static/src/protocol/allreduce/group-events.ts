/**
 * Events that the host of a group's member gives the all-reduce machine, and effects that it performs. Places number the members.
 * The host has all bytes: own pieces, received ones, and means, which it keeps by part and digest. The twin is
 * backend/protocols/mesh/allreduce/group_events.py.
 */

import type { GroupFrame } from "../wire/mesh";

export type Places = readonly number[];

/** Frames that the machine sends and receives; pieces and means have events and effects of their own. */
export type Control = Exclude<GroupFrame, { readonly type: "piece" | "mean" | "attest" }>;
export type FrameOf<T extends Control["type"]> = Extract<Control, { readonly type: T }>;
/** Why a member is complained of. */
export type Fault = FrameOf<"complain">["fault"];

export type Event =
  /**
   * This member's vector is encoded: its weight, and the SHA-256 of each piece (none in a ring). Where pieces are masked there
   * is none either, but this member's public `key` of the group.
   */
  | {
      readonly type: "prepared";
      readonly weight: number;
      readonly commitments: readonly Uint8Array[];
      readonly key: Uint8Array;
    }
  /** A frame of the member at `place` arrived. */
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
  /** The mean that `reduce` asked for is made and encoded; the host keeps it by `digest`. */
  | {
      readonly type: "reduced";
      readonly part: number;
      readonly contributors: Places;
      readonly digest: Uint8Array;
    }
  /**
   * Bytes of that member are invalid: a wrong length, NaN, garbage. `reason` is for people. With this member's own place: its
   * vector cannot be averaged.
   */
  | { readonly type: "unfit"; readonly place: number; readonly reason: string }
  /** There is a link to that member, or it sends again after silence. At first no member is linked. */
  | { readonly type: "linked"; readonly place: number }
  /** The link is down, and the bytes on it are lost. */
  | { readonly type: "lost"; readonly place: number }
  /** No byte came from that member for the patience; `linked` reports the next one. */
  | { readonly type: "silent"; readonly place: number }
  /** The time that `timer` named has come. */
  | { readonly type: "time_passed" };

export type EventOf<T extends Event["type"]> = Extract<Event, { readonly type: T }>;

/** Performed in order. */
export type Effect =
  /** Send this frame to each of `places`; it may be lost where there is no link. */
  | { readonly type: "send"; readonly places: Places; readonly frame: Control }
  /**
   * Send this member's piece of `part`, from its first byte on, with `contributors` in the frame. They are empty where nothing is
   * masked. Else the piece is masked for them, and `weights` are theirs: the values are multiplied by this member's share.
   */
  | {
      readonly type: "send_piece";
      readonly part: number;
      readonly place: number;
      readonly contributors: Places;
      readonly weights: readonly number[];
    }
  /**
   * In a ring: add this member's piece to the sum of `contributors` from `source`, and send that on. Where the ring of this part
   * begins, `contributors` is empty and `source` null. This member's values are multiplied by `weight`. In the frame to `place`,
   * `contributors` are these and this member's place.
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
   * `source` sent the sum of all others, and only this member's piece is added to it, last. Where a piece is invalid, answer
   * `unfit` instead.
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
  /** The group left that member out: drop the pieces and means that wait to be sent to it. */
  | { readonly type: "without"; readonly place: number }
  /**
   * The result: by part, the digest of its mean (all are here) and its contributors. `survivors` all have it; `weights` are
   * those of all members, by place, 0 where no member left knows it; `fraction` is the share of all weight in the result.
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
