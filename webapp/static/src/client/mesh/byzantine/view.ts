/** What a page shows of its membership in a Byzantine mesh. */

import type { Conviction } from "../../../protocol/mesh/byzantine/evidence/conviction";
import { auditsNeeded, present } from "../../../protocol/mesh/byzantine/membership";
import type { Removal } from "../../../protocol/mesh/byzantine/round-events";
import type { AgreedState, WorkCase } from "../../../protocol/mesh/byzantine/state";
import type { WorkFinding } from "../../../protocol/mesh/byzantine/statement-bodies";
import type { ByzantineTerms } from "../../../protocol/wire/mesh";

/** This device's place among the members; `rounds` and `audits` are what it has done of its probation. */
export type MemberStanding =
  | { readonly type: "seat" | "rest" | "banned" | "none" }
  | {
      readonly type: "probation";
      readonly rounds: number;
      readonly neededRounds: number;
      readonly audits: number;
      readonly neededAudits: number;
    };

/** A finding with the distance of the work, as in `Likeness`; null where bytes decide, or nothing was compared. */
export interface ShownFinding extends WorkFinding {
  readonly distance: number | null;
}

export interface ByzantineView {
  /** Null before the first state. */
  readonly standing: MemberStanding | null;
  /** The work that this device checks now. */
  readonly checking: WorkCase | null;
  /** What it found in this session. */
  readonly findings: readonly ShownFinding[];
  /** How many identities are banned. */
  readonly banned: number;
  /** Whom evidence convicts that this device keeps. */
  readonly evidence: readonly Conviction[];
  /** Members that were removed from rounds in this session. */
  readonly removed: readonly { readonly client: string; readonly why: Removal }[];
  /** Why this device could not do another one's work again. */
  readonly problem: string | null;
}

export const NOTHING_CHECKED: ByzantineView = {
  standing: null,
  checking: null,
  findings: [],
  banned: 0,
  evidence: [],
  removed: [],
  problem: null,
};

/** Returns the place of the client with this identity (hexadecimal). */
export function standingOf(
  state: AgreedState | null,
  client: string,
  identity: string,
  { probation, audits }: ByzantineTerms,
): MemberStanding | null {
  if (state === null) return null;
  const { seats, newcomers, banned } = state.membership;
  if (banned.includes(identity)) return { type: "banned" };
  if (present(state.membership, state.round + 1).includes(client)) return { type: "seat" };
  if (seats.some((seat) => seat.client === client)) return { type: "rest" };
  const newcomer = newcomers.find((one) => one.client === client);
  if (newcomer === undefined) return { type: "none" };
  const done = { rounds: newcomer.rounds, audits: newcomer.audits.length };
  const neededAudits = auditsNeeded(seats.length, audits);
  return { type: "probation", ...done, neededRounds: probation, neededAudits };
}
