/**
 * Events and effects of a masked round's member: what the host reports, and what the machine asks for. The twin is
 * backend/protocols/secagg/member_events.py.
 *
 * Secrets stay with the host: it draws, seals, opens, masks and signs, and keeps the round's keys, the roster's
 * context and the opened shares until `forget`. The machine decides what may be sent at all. Lists of places are in
 * ascending order; what a member sends to or receives from several neighbours is in the order of their places.
 */

import type { UserMessage } from "../../core/user-messages";
import type { ClientFrame, FrameOf, ServerFrame } from "../wire/messages";

export type Train = FrameOf<"train">;
export type Keys = FrameOf<"keys">;
export type Member = FrameOf<"roster">["members"][number];
export type Places = readonly number[];

/** An event that the host reports to the machine. */
export type Event =
  /**
   * The server sent a plan with masking; it may repeat it. `client` and `bundle` are those of `welcome`. The
   * volunteer takes part only among at least `minimum` clients.
   */
  | {
      readonly type: "planned";
      readonly client: string;
      readonly bundle: string;
      readonly minimum: number;
      readonly plan: Train;
    }
  /** The server sent a frame of any kind. The machine ignores frames that are not its own. */
  | { readonly type: "frame"; readonly frame: ServerFrame }
  /** The connection is open, perhaps after a reconnection, and the participant has reported that it is ready. */
  | { readonly type: "welcomed" }
  /** Versions below `spent` are those for which this client may have revealed shares in this run of the task. */
  | { readonly type: "keys_made"; readonly keys: Keys; readonly spent: number }
  /**
   * `order` lists the places in the order of the ring. `wrong` lists those with unusable keys or, if `verify` was
   * set, with a wrong signature. `changed` lists those whose identity differs from the one known or listed for that
   * client.
   */
  | {
      readonly type: "roster_checked";
      readonly round: number;
      readonly order: Places;
      readonly wrong: Places;
      readonly changed: Places;
    }
  | { readonly type: "shares_sealed"; readonly round: number; readonly sealed: readonly Uint8Array[] }
  /** The senders in `unopened` sealed no shares that this member can open. */
  | { readonly type: "shares_opened"; readonly round: number; readonly unopened: Places }
  | { readonly type: "survivors_signed"; readonly round: number; readonly signature: Uint8Array }
  /** The places in `wrong` did not sign that list of survivors. */
  | { readonly type: "vouchers_checked"; readonly round: number; readonly wrong: Places }
  | { readonly type: "revealed"; readonly round: number; readonly shares: readonly Uint8Array[] }
  /** The host cannot perform the last effect. `reason` is for people and reveals no secret. */
  | { readonly type: "failed"; readonly round: number; readonly reason: UserMessage }
  /** The volunteer stopped, or another window replaced this one. */
  | { readonly type: "stopped" };

/** An effect that the machine asks of the host. Effects are performed in order. */
export type Effect =
  /** Send one frame if the connection is open; the machine repeats the effect after `welcomed`. */
  | { readonly type: "send"; readonly frame: ClientFrame }
  /**
   * Draw a new seed and two new X25519 keys for the round of `plan`, and sign them. Read the versions that are spent
   * from durable storage. Then report `keys_made`.
   */
  | { readonly type: "make_keys"; readonly client: string; readonly bundle: string; readonly plan: Train }
  /**
   * Compute the round's context and ring, and check every key; then report `roster_checked`. With `verify`, also
   * check the signatures and compare the identities with those known.
   */
  | {
      readonly type: "check_roster";
      readonly round: number;
      readonly members: readonly Member[];
      readonly degree: number;
      readonly threshold: number;
      readonly verify: boolean;
    }
  /**
   * Split both secrets into shares for the `neighbours` and for this member at `place`; `threshold` shares recover a
   * secret. The neighbours' shares are sealed for them, the own ones are kept. Then report `shares_sealed`.
   */
  | {
      readonly type: "seal";
      readonly round: number;
      readonly place: number;
      readonly threshold: number;
      readonly neighbours: Places;
    }
  /** Open what `senders` sealed for `place`, and keep the shares; then report `shares_opened`. */
  | {
      readonly type: "open";
      readonly round: number;
      readonly place: number;
      readonly senders: Places;
      readonly sealed: readonly Uint8Array[];
    }
  /**
   * Allow the round's update to be masked, only once: with the own mask and the pairwise masks of `pairs`. The effect
   * may come before or while training ends. The masked bytes are offered; a repeated offer has the same bytes. Report
   * `failed` if no update can be masked.
   */
  | { readonly type: "mask"; readonly round: number; readonly place: number; readonly pairs: Places }
  /** Sign that the server named these survivors; then report `survivors_signed`. */
  | { readonly type: "sign_survivors"; readonly round: number; readonly alive: Places }
  /** Check the vouchers' signatures over this list of survivors; then report `vouchers_checked`. */
  | {
      readonly type: "check_vouchers";
      readonly round: number;
      readonly alive: Places;
      readonly vouchers: Places;
      readonly signatures: readonly Uint8Array[];
    }
  /**
   * Take one share for each place in `seeds` (of its seed) and `mask_keys` (of its private mask key), in the order of
   * all these places. First store durably that `version` and all before it are spent; if that fails report `failed`,
   * and take none. A share that could not be opened is 32 bytes of 0xff. The other share of each place is deleted.
   * Then report `revealed`.
   */
  | {
      readonly type: "make_reveal";
      readonly round: number;
      readonly version: number;
      readonly seeds: Places;
      readonly mask_keys: Places;
    }
  /**
   * Take no further part in `round`, and offer no update of it. `reason` is for people. A `forget` follows if the
   * round has secrets, and a `send` that notifies the server.
   */
  | { readonly type: "give_up"; readonly round: number; readonly reason: UserMessage }
  /** Overwrite the secrets of `round`. */
  | { readonly type: "forget"; readonly round: number };
