/**
 * Events and effects of the machine of a masked round's member: what its host reports, and what it asks for. The mirror
 * of backend/protocols/secagg/member_events.py.
 *
 * Secrets stay with the host: it draws, seals, opens, masks and signs, and keeps what belongs to a round (its keys, the
 * roster's context, opened shares) until `forget`. The machine decides what may be sent at all. Lists of places
 * ascend; what a member sends or gets for several neighbours is in the order of their places.
 */

import type { ClientFrame, FrameOf, ServerFrame } from "../wire/messages";

export type Train = FrameOf<"train">;
export type Keys = FrameOf<"keys">;
export type Member = FrameOf<"roster">["members"][number];
export type Places = readonly number[];

/** What the host reports to the machine. */
export type Event =
  /**
   * The server sent a plan with masking, perhaps once more. `client` and `bundle` are those of `welcome`; the volunteer
   * takes part among no fewer than `minimum` clients.
   */
  | {
      readonly type: "planned";
      readonly client: string;
      readonly bundle: string;
      readonly minimum: number;
      readonly plan: Train;
    }
  /** The server sent a frame, of any kind: the machine ignores those that are not its own. */
  | { readonly type: "frame"; readonly frame: ServerFrame }
  /** The connection is open (again), and the participant said that it is ready. */
  | { readonly type: "welcomed" }
  | { readonly type: "keys_made"; readonly keys: Keys }
  /**
   * `order` has the places in the order of the ring; `wrong` those with keys that cannot be used or, where asked to
   * `verify`, with a wrong signature; `changed` those whose identity is not the one known or listed for that client.
   */
  | {
      readonly type: "roster_checked";
      readonly round: number;
      readonly order: Places;
      readonly wrong: Places;
      readonly changed: Places;
    }
  | { readonly type: "shares_sealed"; readonly round: number; readonly sealed: readonly Uint8Array[] }
  /** Of `unopened` there are no shares: they were not sealed for this member. */
  | { readonly type: "shares_opened"; readonly round: number; readonly unopened: Places }
  | { readonly type: "survivors_signed"; readonly round: number; readonly signature: Uint8Array }
  /** The places in `wrong` did not sign that list. */
  | { readonly type: "vouchers_checked"; readonly round: number; readonly wrong: Places }
  | { readonly type: "revealed"; readonly round: number; readonly shares: readonly Uint8Array[] }
  /** The host cannot do what was asked last; `reason` is for people and tells no secret. */
  | { readonly type: "failed"; readonly round: number; readonly reason: string }
  /** The volunteer stopped, or another window took its place. */
  | { readonly type: "stopped" };

/** What the machine asks of the host, in order. */
export type Effect =
  /** Send one frame, if the connection is open; after `welcomed` it is asked for again. */
  | { readonly type: "send"; readonly frame: ClientFrame }
  /** Draw a seed and two X25519 keys, all new, for the round of `plan`, and sign them; then report `keys_made`. */
  | { readonly type: "make_keys"; readonly client: string; readonly bundle: string; readonly plan: Train }
  /**
   * Compute the round's context and ring, and look at every key; then report `roster_checked`. To `verify` is to check
   * signatures and to compare identities with those known.
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
   * Cut both secrets into shares for the `neighbours` and oneself at `place`, of which `threshold` recover them. Those
   * of the neighbours are sealed for them; one's own are kept. Then report `shares_sealed`.
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
   * The round's update may be masked now, and that once: with one's own mask and those with `pairs`. Given before or
   * while training ends. The masked bytes are offered, and the very same again if need be. Report `failed` if there can
   * be none.
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
   * Take one share for each place in `seeds` (of its seed) and `mask_keys` (of its private mask key), in the order of all
   * these places; for one whose shares could not be opened 32 bytes 0xff. The other share of each is forgotten. Then
   * report `revealed`.
   */
  | {
      readonly type: "make_reveal";
      readonly round: number;
      readonly seeds: Places;
      readonly mask_keys: Places;
    }
  /**
   * Take no further part in `round`: offer no update of it. `reason` is for people. `forget` follows, where there is
   * something to, and a `send` that tells the server.
   */
  | { readonly type: "give_up"; readonly round: number; readonly reason: string }
  /** Overwrite what was kept for `round`. */
  | { readonly type: "forget"; readonly round: number };
