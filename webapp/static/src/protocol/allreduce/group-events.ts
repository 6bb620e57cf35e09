/**
 * Events that the host of a group's member reports to the all-reduce machine, and effects that it performs. A place
 * is a member's number in the group. The host has all bytes: its own pieces, received pieces, and means, which it
 * stores by part and digest. The twin is backend/protocols/mesh/allreduce/group_events.py.
 */

import type { GroupFrame } from "../wire/mesh";

export type Places = readonly number[];

/** Frames that the machine sends and receives; pieces and means have events and effects of their own. */
export type Control = Exclude<GroupFrame, { readonly type: "piece" | "mean" | "attest" }>;
export type FrameOf<T extends Control["type"]> = Extract<Control, { readonly type: T }>;
/** The fault that a complaint names. */
export type Fault = FrameOf<"complain">["fault"];

export type Event =
  /**
   * This member's vector is encoded: its weight, and the SHA-256 of each piece (none in a ring). If pieces are masked
   * there are no commitments either, but this member's public `key` for the group.
   */
  | {
      readonly type: "prepared";
      readonly weight: number;
      readonly commitments: readonly Uint8Array[];
      readonly key: Uint8Array;
    }
  /** A frame of the member at `place` arrived. */
  | { readonly type: "heard"; readonly place: number; readonly frame: Control }
  /** All bytes of a piece have arrived, with their SHA-256; `contributors` as in the frame `piece`. */
  | {
      readonly type: "piece_came";
      readonly place: number;
      readonly part: number;
      readonly contributors: Places;
      readonly digest: Uint8Array;
    }
  /** All bytes of a mean have arrived. `digest` is that of contributors and bytes (0025, "The group machine"). */
  | {
      readonly type: "mean_came";
      readonly place: number;
      readonly part: number;
      readonly contributors: Places;
      readonly digest: Uint8Array;
    }
  /** The mean that `reduce` asked for is computed and encoded; the host stores it by `digest`. */
  | {
      readonly type: "reduced";
      readonly part: number;
      readonly contributors: Places;
      readonly digest: Uint8Array;
    }
  /**
   * Bytes of that member are invalid: a wrong length, NaN, garbage. `reason` is for people. If `place` is this
   * member's own, its vector cannot be averaged.
   */
  | { readonly type: "unfit"; readonly place: number; readonly reason: string }
  /** There is a link to that member, or it sends again after silence. At first no member is linked. */
  | { readonly type: "linked"; readonly place: number }
  /** The link is down, and the bytes on it are lost. */
  | { readonly type: "lost"; readonly place: number }
  /** No byte came from that member for `patience` seconds; `linked` reports the next one. */
  | { readonly type: "silent"; readonly place: number }
  /** The time that `timer` returned has come. */
  | { readonly type: "time_passed" };

export type EventOf<T extends Event["type"]> = Extract<Event, { readonly type: T }>;

/** An effect that the machine asks of the host. Effects are performed in order. */
export type Effect =
  /** Send this frame to each of `places`; it may be lost if there is no link. */
  | { readonly type: "send"; readonly places: Places; readonly frame: Control }
  /**
   * Send this member's piece of `part`, from its first byte on, with `contributors` in the frame. Without masks
   * `contributors` is empty. Otherwise the piece is masked for them, `weights` are theirs, and the values are
   * multiplied by this member's share.
   */
  | {
      readonly type: "send_piece";
      readonly part: number;
      readonly place: number;
      readonly contributors: Places;
      readonly weights: readonly number[];
    }
  /**
   * In a ring: add this member's piece to the sum of `contributors` from `source`, and send the sum to the next
   * member. At the start of this part's ring, `contributors` is empty and `source` null. This member's values are
   * multiplied by `weight`. In the frame to `place`, `contributors` are these and this member's place.
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
   * Compute the mean of `part` from the pieces of `contributors`, by place, with these weights; report `reduced`. In
   * a ring `source` sent the sum of all others, and only this member's piece is added to it, last. If a piece is
   * invalid, report `unfit` instead.
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
  /** The group excluded that member: drop the pieces and means that wait to be sent to it. */
  | { readonly type: "without"; readonly place: number }
  /**
   * The result: by part, the digest of its mean (this member has all of them) and its contributors. All `survivors`
   * have it. `weights` are those of all members, by place, 0 if no remaining member knows it. `fraction` is the share
   * of all weight in the result.
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
