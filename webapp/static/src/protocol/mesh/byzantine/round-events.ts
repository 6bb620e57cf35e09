/**
 * What the host of a Byzantine mesh's member begins a round with, events that it gives the machine, and effects that it
 * performs. The host has all bytes, which it keeps by their SHA-256, and the keys: it signs what the machine says, and
 * gives it only statements whose signatures it checked. Digests, keys and coins are hexadecimal. The twin, which explains
 * the fields, is backend/protocols/mesh/byzantine/round_events.py.
 */

import type { Statement, TurnOfRound } from "../../../core/crypto/statements";
import type { ByzantineTerms } from "../../wire/mesh";
import type { AgreedState } from "./state";
import type { WorkFinding } from "./statement-bodies";

/** Why a member is removed: two words, a wrong mean and wrong numbers ban it; for the others it loses less. */
export type Removal = "two-words" | "wrong-mean" | "wrong-check" | "unrevealed" | "absent";

/** A round of the seated member `client` after `state`. */
export interface RoundBegin {
  readonly task: string;
  readonly run: string;
  readonly terms: ByzantineTerms;
  readonly state: AgreedState;
  /** The round and group of the convener's order. */
  readonly attempt: readonly [round: number, group: number];
  readonly client: string;
  /** The identities of all in the mesh. */
  readonly clients: ReadonlyMap<string, string>;
  /** Returns the limits of a number of parts of the vector. */
  readonly bounds: (parts: number) => readonly number[];
  /** Returns a part of the coin, and the salt of its commitment, 32 random bytes each, for each turn. */
  readonly toss: () => readonly [coin: string, salt: string];
}

export type ByzantineEvent =
  /** This member's vector is cut for the turn: the digest of each piece, none of a validator. */
  | { readonly type: "work_ready"; readonly pieces: readonly string[] }
  /** What this member found about another one's work. */
  | { readonly type: "work_judged"; readonly judgement: WorkFinding }
  /**
   * A statement arrived that its sender signed for the machine's present turn, and these members (identities) passed
   * on, of signatures that the host checked. Statements of later turns wait in the host.
   */
  | {
      readonly type: "statement_received";
      readonly statement: Statement;
      readonly signers: readonly string[];
    }
  /** All bytes of a piece or mean arrived. */
  | { readonly type: "bytes_received"; readonly digest: string }
  /** The mean that `make_mean` asked for. */
  | { readonly type: "mean_made"; readonly digest: string }
  /** By part, this member's product and length; by worker, those of the pieces of its own part. */
  | {
      readonly type: "means_checked";
      readonly products: readonly number[];
      readonly lengths: readonly number[];
      readonly own_products: readonly number[];
      readonly own_lengths: readonly number[];
    }
  /** A disputed mean, made again, and each worker's product and length. */
  | {
      readonly type: "mean_remade";
      readonly part: number;
      readonly digest: string;
      readonly products: readonly number[];
      readonly lengths: readonly number[];
    }
  /** The digests of the weights and of the optimizer's momentum after the outer step. */
  | { readonly type: "outer_stepped"; readonly weights: string; readonly slots: string }
  /** The time that `timer` named has come. */
  | { readonly type: "round_time_passed" };

export type ByzantineEffect =
  /** Cut this member's vector into so many parts; answer `work_ready`. A validator has none. */
  | {
      readonly type: "turn_begins";
      readonly turn: number;
      readonly parts: number;
      readonly works: boolean;
    }
  /** Sign this statement of this member in `turn`, and send it to everybody in the mesh. */
  | { readonly type: "say_to_all"; readonly statement: Statement; readonly turn: TurnOfRound }
  /** Send a statement in `turn` to everybody, with all signatures known for it and this member's own. */
  | { readonly type: "pass_on"; readonly statement: Statement; readonly turn: TurnOfRound }
  | { readonly type: "send_bytes"; readonly digest: string; readonly clients: readonly string[] }
  /** Make the clipped mean of the pieces of own `part`; answer `mean_made`. */
  | {
      readonly type: "make_mean";
      readonly part: number;
      readonly pieces: readonly string[];
      readonly radius: number;
    }
  /** Compute products and lengths for the means of all parts; answer `means_checked`. */
  | {
      readonly type: "check_means";
      readonly coin: string;
      readonly means: readonly string[];
      readonly radius: number;
    }
  /** Make a disputed mean again of all its pieces; answer `mean_remade`. */
  | {
      readonly type: "remake_mean";
      readonly part: number;
      readonly pieces: readonly string[];
      readonly radius: number;
      readonly coin: string;
    }
  /** Take the outer step by the means of all parts; answer `outer_stepped`. None leave the weights. */
  | { readonly type: "take_outer_step"; readonly means: readonly string[] }
  /** A client was removed from the round after `turn`; the statements are evidence where that convicts. */
  | {
      readonly type: "remove_client";
      readonly client: string;
      readonly why: Removal;
      readonly statements: readonly Statement[];
      readonly turn: TurnOfRound;
    }
  /** The members agreed on this state. */
  | { readonly type: "finish_round"; readonly state: AgreedState }
  /** The members agreed on a state that this one did not compute: fetch it from them. */
  | { readonly type: "adopt_state"; readonly state: string }
  /** This member knows of no result; `reason` is for people. */
  | { readonly type: "fail_round"; readonly reason: string };

export type ByzantineEffectOf<T extends ByzantineEffect["type"]> = Extract<
  ByzantineEffect,
  { readonly type: T }
>;
export type ByzantineEventOf<T extends ByzantineEvent["type"]> = Extract<
  ByzantineEvent,
  { readonly type: T }
>;
