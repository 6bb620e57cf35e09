/**
 * Messages between the page and the worker of a masked round. A worker serves one round: it makes that round's
 * secrets, and they end with it. Lists of places are in ascending order; docs/reference/masked-rounds.md has the
 * protocol.
 */

import type { FrameOf } from "../../protocol/wire/messages";
import type { MaskingTerms } from "../crypto/context";
import type { Identity } from "../crypto/keys";
import type { UserMessage } from "../user-messages";

export type Member = FrameOf<"roster">["members"][number];
export type Keys = FrameOf<"keys">;
type Places = readonly number[];

export type ToMasker =
  /** Draws a seed and two keys, and signs them as `client`. */
  | {
      readonly type: "make_keys";
      readonly id: number;
      readonly client: string;
      readonly identity: Identity;
      readonly terms: MaskingTerms;
    }
  /** Computes the context and the ring, and checks every key; with `verify` it checks the signatures, too. */
  | {
      readonly type: "check_roster";
      readonly id: number;
      readonly members: readonly Member[];
      readonly degree: number;
      readonly threshold: number;
      readonly verify: boolean;
    }
  /** Splits both secrets into shares for the `neighbours` and for this member. */
  | {
      readonly type: "seal";
      readonly id: number;
      readonly place: number;
      readonly threshold: number;
      readonly neighbours: Places;
    }
  /** Opens and keeps what `senders` sealed for `place`. */
  | {
      readonly type: "open";
      readonly id: number;
      readonly place: number;
      readonly senders: Places;
      readonly sealed: readonly Uint8Array[];
    }
  /** Expands the own mask and those with `pairs`, before the update is ready. */
  | { readonly type: "expand"; readonly id: number; readonly place: number; readonly pairs: Places }
  /** Masks the round's update; only once. */
  | {
      readonly type: "mask";
      readonly id: number;
      /** float32, transferred. */
      readonly update: ArrayBuffer;
      /** The residual of earlier updates; null if there is none. */
      readonly owed: Float32Array | null;
      readonly examples: number;
      readonly loss: number;
      /** Numerator and denominator of each metric row in turn. */
      readonly sums: readonly number[];
      /** Whether only the update is sent. */
      readonly alone: boolean;
    }
  | { readonly type: "sign_survivors"; readonly id: number; readonly alive: Places }
  /** Returns which of the `vouchers` did not sign the list `alive`. */
  | {
      readonly type: "check_vouchers";
      readonly id: number;
      readonly alive: Places;
      readonly vouchers: Places;
      readonly signatures: readonly Uint8Array[];
    }
  /** Takes one share for each place in `seeds` and `mask_keys`; the other shares are deleted. */
  | {
      readonly type: "make_reveal";
      readonly id: number;
      readonly seeds: Places;
      readonly mask_keys: Places;
    };

export type FromMasker =
  | { readonly type: "keys_made"; readonly id: number; readonly keys: Keys }
  | {
      readonly type: "roster_checked";
      readonly id: number;
      /** The places in the order of the ring. */
      readonly order: Places;
      readonly wrong: Places;
    }
  | { readonly type: "shares_sealed"; readonly id: number; readonly sealed: readonly Uint8Array[] }
  | { readonly type: "shares_opened"; readonly id: number; readonly unopened: Places }
  | { readonly type: "expanded"; readonly id: number }
  /** The masked update for sending, and the residual if not all values are sent; transferred. */
  | {
      readonly type: "masked";
      readonly id: number;
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly left: Float32Array<ArrayBuffer> | null;
    }
  | { readonly type: "survivors_signed"; readonly id: number; readonly signature: Uint8Array }
  | { readonly type: "vouchers_checked"; readonly id: number; readonly wrong: Places }
  | { readonly type: "revealed"; readonly id: number; readonly shares: readonly Uint8Array[] }
  /** `problem` is for people and reveals no secret. */
  | { readonly type: "failed"; readonly id: number; readonly problem: UserMessage };
