/** What a masked round means for the volunteer, in words. Pure: everything shown is an argument. */

import type { MaskedView } from "../../client/session/masking-host";
import { say } from "../../i18n";
import type { Stage } from "../../protocol/secagg/member";

const words = say.masked;

/** What becomes of the update, and who says who the others are; null where there is nothing to say yet. */
export interface UpdateVisibility {
  readonly line: string;
  readonly roster: string | null;
}

const EXCHANGING: readonly Stage[] = ["keys", "roster", "checking", "sealing", "dealing", "opening"];
/** The masks come off the sum. */
const ADDING: readonly Stage[] = ["weighing", "revealing", "revealed"];

export function visibilityOf(masked: MaskedView): UpdateVisibility {
  if (masked.reason !== null) {
    return { line: words.nothing(masked.reason), roster: null };
  }
  return { line: lineOf(masked), roster: masked.members > 0 ? rosterOf(masked) : null };
}

/** Whether keys and shares are still on their way. */
export function isExchangingKeys({ stage }: MaskedView): boolean {
  return EXCHANGING.includes(stage);
}

function lineOf(masked: MaskedView): string {
  const { stage, members } = masked;
  if (stage === "idle" || stage === "refused") return words.without;
  if (isExchangingKeys(masked)) return words.exchanging(members);
  return ADDING.includes(stage) ? words.adding(members) : words.among(members);
}

function rosterOf({ members, active, met }: MaskedView): string {
  if (!active || met === null) return words.serverSays;
  const others = members - 1;
  if (met === 0) return words.metNone;
  return met === others ? words.metAll : words.metSome(met, others);
}

/** What a task offers: whether it masks, and among how many at least. */
export interface MaskingOffer {
  readonly masks: boolean;
  readonly least: number;
}

/** What it means to join only among so many. */
export interface MinimumNote {
  readonly text: string;
  /** Nobody can join on this condition. */
  readonly bars: boolean;
}

/** Of the condition `minimum` (0: none) where a task offers that. */
export function minimumNote(minimum: number, { masks, least }: MaskingOffer): MinimumNote {
  if (!masks) return minimum > 0 ? { text: words.openBars, bars: true } : { text: words.open, bars: false };
  if (minimum > least) return { text: words.tooMany(least, minimum), bars: true };
  return { text: minimum === 0 ? words.empty(least) : words.leaves, bars: false };
}
