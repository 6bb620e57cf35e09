/** The texts on a device's part that the pages of all tasks share. Pure: everything shown is an argument. */

import type { TrainingProgress } from "../../client/workers/training-worker";
import { say } from "../../i18n";

/** What the control card shows; `phase` is its name in the stylesheet. */
export interface Status {
  readonly phase: string;
  /** Changes only with new events; screen readers read it. */
  readonly spoken: string;
  readonly line: string;
  readonly hint: string;
  /** Steps done and planned in the open round, or null. */
  readonly steps: readonly [number, number] | null;
}

/** A line and a hint; the spoken text is the line unless it changes all the time. */
export type StatusWords = readonly [line: string, hint: string, spoken?: string];

/** What sessions show of why they stopped. */
interface StoppedView {
  readonly machine: { readonly reason: string | null };
  readonly problem: string | null;
}

/** Returns the status with these words; `progress` is that of the current steps, if any. */
export function statusIn(phase: string, words: StatusWords, progress: TrainingProgress | null): Status {
  const [line, hint, spoken = line] = words;
  return { phase, line, hint, spoken, steps: progress && [progress.step, progress.steps] };
}

const card = say.card;

/** Returns the status of a session that cannot connect before its device has proved work. */
export function provingIn(status: Status): Status {
  if (status.phase !== "connecting") return status;
  return { ...status, line: card.provingWork, spoken: card.provingWork, hint: card.provingFirst };
}

const STOPPED: StatusWords = [card.stopped, card.startAgain];

export const MEASURING: StatusWords = [card.measuring, card.measuringHere];

export const PAUSED: StatusWords = [card.paused, card.pausedStay];

export const TRAINED: StatusWords = [card.trained, card.allDoneThanks];

/** The status for those who come when the training is over. */
export const OVER: Status = statusIn("finished", [card.trained, card.nothingLeft], null);

/**
 * Returns the invitation; null after the first start, unless examples have to be chosen again. `own` counts the
 * volunteer's own ones, null if the task provides them.
 */
export function invitationWords(hasStarted: boolean, own: number | null): StatusWords | null {
  if (own === 0) return [card.chooseFirst, card.learnsFromYours];
  if (hasStarted) return null;
  return [card.ready, own === null ? card.press : card.pressWith(own)];
}

/**
 * Returns the words for a stopped session; `invited` before the first start, `thanked` if this device contributed.
 */
export function stoppedWords(
  { machine: { reason }, problem }: StoppedView,
  invited: StatusWords | null,
  thanked: StatusWords | null,
): StatusWords {
  if (problem) return [card.stopped, problem];
  return invited ?? thanked ?? (reason ? [card.stopped, say.message(reason)] : STOPPED);
}

/** Returns the words for `missing` participants of the `least` with which a round begins, if the page knows these. */
export function missingWords(missing: number, least: number): StatusWords {
  const here = least - missing;
  return [here > 0 ? card.present(here, least) : card.needed(missing), card.sendTheAddress];
}

/** Returns the words while the model is fetched; `problem` is the last error, while it is retried. */
export function loadingWords(problem: string | null): StatusWords {
  return [card.gettingReady, retryHint(problem) ?? card.fetchingModel];
}

/** Returns the hint on an error, while the work is retried. */
export function retryHint(problem: string | null): string | null {
  return problem === null ? null : card.again(problem);
}

/** Returns the words for a step of the plan for `round`. */
export function roundStepWords({ step, steps, loss }: TrainingProgress, round: number): StatusWords {
  return [card.stepInRound(step, steps, round), card.loss(loss), card.spokenStep(card.round(round))];
}
