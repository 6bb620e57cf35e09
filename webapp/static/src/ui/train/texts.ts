/** What the pages of all tasks say of a device's part. Pure: everything shown is an argument. */

import type { TrainingProgress } from "../../client/workers/training-worker";
import { say } from "../../i18n";

/** What the control card shows; `phase` is the word that the stylesheet knows it by. */
export interface Status {
  readonly phase: string;
  /** Changes only when something new happens; screen readers say it. */
  readonly spoken: string;
  readonly line: string;
  readonly hint: string;
  /** Steps done and due of the open round, or null. */
  readonly steps: readonly [number, number] | null;
}

/** A line and a hint; what is spoken is the line where it does not change all the time. */
export type StatusWords = readonly [line: string, hint: string, spoken?: string];

/** What sessions show of why they stopped. */
interface StoppedView {
  readonly machine: { readonly reason: string | null };
  readonly problem: string | null;
}

/** The status of words; `progress` is that of the steps that are being made, if any are. */
export function statusIn(phase: string, words: StatusWords, progress: TrainingProgress | null): Status {
  const [line, hint, spoken = line] = words;
  return { phase, line, hint, spoken, steps: progress && [progress.step, progress.steps] };
}

const { card } = say;

const STOPPED: StatusWords = [card.stopped, card.startAgain];

export const MEASURING: StatusWords = [card.measuring, card.measuringHere];

export const PAUSED: StatusWords = [card.paused, card.pausedStay];

export const TRAINED: StatusWords = [card.trained, card.allDoneThanks];

/**
 * Null after the first start, unless examples are to be chosen anew; `own` counts the volunteer's own ones, null where the
 * task brings them.
 */
export function invitationWords(hasStarted: boolean, own: number | null): StatusWords | null {
  if (own === 0) return [card.chooseFirst, card.learnsFromYours];
  if (hasStarted) return null;
  return [card.ready, own === null ? card.press : card.pressWith(own)];
}

/** Not taking part; `invited` before the first start, `thanked` where something of this device counts. */
export function stoppedWords(
  { machine: { reason }, problem }: StoppedView,
  invited: StatusWords | null,
  thanked: StatusWords | null,
): StatusWords {
  if (problem) return [card.stopped, problem];
  return invited ?? thanked ?? (reason ? [card.stopped, reason] : STOPPED);
}

/** So many participants are missing. */
export function missingWords(count: number): StatusWords {
  return [card.needed(count), card.sendTheAddress];
}

/** While the model is fetched; `problem` is what went wrong, while it is tried again. */
export function loadingWords(problem: string | null): StatusWords {
  return [card.gettingReady, retryHint(problem) ?? card.fetchingModel];
}

/** What went wrong, while it is tried again. */
export function retryHint(problem: string | null): string | null {
  return problem === null ? null : card.again(problem);
}

/** A step of `round` was made. */
export function stepWords({ step, steps, loss }: TrainingProgress, round: string): StatusWords {
  return [card.step(step, steps), `${round}. ${card.loss(loss)}`, card.spokenStep(round)];
}
