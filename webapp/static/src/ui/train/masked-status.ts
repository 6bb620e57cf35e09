/** Describes a masked round for the volunteer. Pure: everything shown is an argument. */

import type { MaskedView } from "../../client/session/masking-host";
import { say } from "../../i18n";
import type { Stage } from "../../protocol/secagg/member";

const words = say.masked;

/** Who sees the update, and who vouches for the other clients; null before that is known. */
export interface UpdateVisibility {
  readonly line: string;
  readonly roster: string | null;
}

const EXCHANGING: readonly Stage[] = ["keys", "roster", "checking", "sealing", "dealing", "opening"];
/** The stages in which the masks are removed from the sum. */
const ADDING: readonly Stage[] = ["weighing", "revealing", "revealed"];

export function visibilityOf(masked: MaskedView): UpdateVisibility {
  if (masked.reason !== null) {
    return { line: words.nothing(say.message(masked.reason)), roster: null };
  }
  return { line: lineOf(masked), roster: masked.members > 0 ? rosterOf(masked) : null };
}

/** Whether keys and shares are being exchanged. */
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

/** A task's masking: whether it masks, and among at least how many clients. */
export interface MaskingOffer {
  readonly masks: boolean;
  readonly least: number;
}

/** The consequences of a volunteer's minimum. */
export interface MinimumNote {
  readonly text: string;
  /** The minimum prevents joining. */
  readonly bars: boolean;
}

/** Describes the volunteer's `minimum` (0: none) for a task with that masking. */
export function minimumNote(minimum: number, { masks, least }: MaskingOffer): MinimumNote {
  if (!masks) return minimum > 0 ? { text: words.openBars, bars: true } : { text: words.open, bars: false };
  if (minimum > least) return { text: words.tooMany(least, minimum), bars: true };
  return { text: minimum === 0 ? words.empty(least) : words.leaves, bars: false };
}
