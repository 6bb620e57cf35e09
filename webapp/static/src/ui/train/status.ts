/** Describes in words what the volunteer's own session does. Pure: everything shown is an argument. */

import type { RoundsView } from "../../client/session/session";
import { say } from "../../i18n";
import { seconds } from "../../i18n/formatting";
import { phase } from "../../protocol/rounds/participant";
import type { ParticipantPhase } from "../../protocol/rounds/participant-phases";
import { isExchangingKeys } from "./masked-status";
import {
  invitationWords,
  loadingWords,
  MEASURING,
  missingWords,
  PAUSED,
  retryHint,
  roundStepWords,
  type Status,
  type StatusWords,
  statusIn,
  stoppedWords,
  TRAINED,
} from "./texts";

const card = say.card;
const round = say.round;

/**
 * `now` as in `performance.now()`; `own` counts the volunteer's own examples, null if the task provides them; a round
 * begins with `least` participants, 0 if the page does not know.
 */
export function statusOf(view: RoundsView, now: number, own: number | null = null, least = 0): Status {
  const { machine, progress } = view;
  const current = phase(machine);
  const busy = machine.plan !== null && machine.offer === null;
  return statusIn(current, words(current, view, now, own, least), busy ? progress : null);
}

function words(
  current: ParticipantPhase,
  view: RoundsView,
  now: number,
  own: number | null,
  least: number,
): StatusWords {
  switch (current) {
    case "stopped":
      return atRest(view, own);
    case "connecting":
      return [card.connecting, card.lookingForServer];
    case "offline":
      return offline(view, now);
    case "loading":
      return loadingWords(view.problem);
    case "waiting":
      return waiting(view, now, least);
    case "training":
      return training(view);
    case "uploading":
      return uploading(view);
    case "evaluating":
      return MEASURING;
    case "finished":
      return TRAINED;
  }
}

function uploading({ done, masked }: RoundsView): StatusWords {
  const [steps, planned] = done ?? [1, 1];
  if (steps < planned) {
    const share = Math.max(1, Math.floor((100 * steps) / planned));
    return [round.sending, round.sendingPart(share)];
  }
  return [round.sending, masked ? round.sendingMasked(masked.members) : round.sendingWhole];
}

function atRest(view: RoundsView, own: number | null): StatusWords {
  const { hello, accepted } = view.machine;
  const thanks: StatusWords | null = accepted > 0 ? [card.thanks, round.counting(accepted)] : null;
  return stoppedWords(view, invitationWords(hello !== null, own), thanks);
}

function offline({ machine, progress, retryAt }: RoundsView, now: number): StatusWords {
  const line = retryAt === null ? round.offlineNow : round.offlineIn(seconds((retryAt - now) / 1000));
  let hint = machine.connection.dismissal ?? round.unreachable;
  if (machine.plan && machine.offer) hint = round.updateReady;
  else if (machine.plan && progress) hint = round.trainsOn(progress.step, progress.steps);
  return [line, hint, round.offline];
}

function waiting(
  { machine, task, taskAt, client, counted: mine, checked, uncounted, masked }: RoundsView,
  now: number,
  least: number,
): StatusWords {
  if (!task) return [card.nextRound, card.inFromNext];
  const left = task.seconds === null ? "" : round.atMost(seconds(task.seconds - (now - taskAt) / 1000));
  const me = task.participants.find((one) => one.client === client);
  switch (task.phase) {
    case "waiting":
      return task.needed > 0 ? missingWords(task.needed, least) : [card.nextRound, card.opensSoon];
    case "aggregating":
      return [round.together, round.versionOf(task.round)];
    case "evaluating":
      return [card.measuring, round.measured(task.reported, task.cohort, left)];
    case "paused":
      return PAUSED;
    case "finished":
      return [card.trained, card.allDone];
    case "training": {
      const counts = me?.status === "reported" || mine === task.round;
      // The server's list is updated later than its answer to this participant.
      const reported = counts ? Math.max(1, task.reported) : task.reported;
      const done = round.updatesIn(reported, task.cohort);
      if (checked === task.round) return [round.checked, round.probation(machine.probation)];
      if (!counts) return [card.nextRound, round.without(task.round, done, left)];
      const hint = `${card.round(task.round)}: ${done}${left}.`;
      if (uncounted) return [round.uncounted, `${hint} ${say.message(uncounted)}`, round.uncounted];
      return [
        round.countsWaiting(task.cohort - reported),
        masked ? `${hint} ${round.stay}` : hint,
        round.counts,
      ];
    }
  }
}

function training(view: RoundsView): StatusWords {
  const { machine, progress, masked, done } = view;
  const name = machine.plan ? card.round(machine.plan.round) : card.noRound;
  if (masked && masked.reason !== null) return [round.goesOnWithout, say.message(masked.reason)];
  if (masked && done) {
    const waits = isExchangingKeys(masked) ? round.waitsForKeys : round.makesMasks;
    return [round.masking, `${name}. ${waits}`];
  }
  if (!progress) return [round.fetching, retryHint(view.problem) ?? `${name}.`, card.training];
  return roundStepWords(progress, machine.plan?.round ?? 0);
}
