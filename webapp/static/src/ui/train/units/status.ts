/** Describes in words what this device does in a task with work units. Pure: everything shown is an argument. */

import type { UnitsView } from "../../../client/units/view";
import { say } from "../../../i18n";
import { seconds } from "../../../i18n/formatting";
import { phase } from "../../../protocol/units/unit-client";
import type { Unit } from "../../../protocol/units/unit-client-events";
import type { UnitClientPhase } from "../../../protocol/units/unit-client-phases";
import type { UnitStage } from "../../../protocol/units/units-in-hand";
import {
  loadingWords,
  PAUSED,
  retryHint,
  type Status,
  type StatusWords,
  statusIn,
  stoppedWords,
} from "../texts";
import { loadedUnits } from "./view";

const card = say.card;
const round = say.round;
const units = say.units;

/** `now` as in `performance.now()`. */
export function unitsStatus(view: UnitsView, now: number): Status {
  const current = phase(view.machine);
  const [line, hint, spoken = line] = words(current, view, now);
  const { finishing, machine, progress } = view;
  const hints = finishing ? `${hint} ${units.finishing(machine.units.length)}` : hint;
  // The stylesheet names all work for training `training`.
  const word = current === "fetching" ? "training" : current;
  return statusIn(word, [line, hints, spoken], current === "training" ? progress : null);
}

function words(current: UnitClientPhase, view: UnitsView, now: number): StatusWords {
  switch (current) {
    case "stopped":
      return atRest(view);
    case "connecting":
      return [card.connecting, card.lookingForServer];
    case "offline":
      return offline(view, now);
    case "loading":
      return loadingWords(view.problem);
    case "waiting":
    case "resting":
      return waiting(view);
    case "fetching":
      return fetching(view);
    case "training":
      return training(view);
    case "uploading":
      return [units.sending, units.sendingHint(nameOf(at(view, "sending")))];
    case "finished":
      return [card.trained, units.allDone];
  }
}

function atRest(view: UnitsView): StatusWords {
  const { enlist, counted } = view.machine;
  const thanks: StatusWords | null = counted > 0 ? [card.thanks, units.counting(counted)] : null;
  return stoppedWords(view, enlist === null ? [card.ready, units.press] : null, thanks);
}

function offline(view: UnitsView, now: number): StatusWords {
  const { retryAt, machine, progress } = view;
  const line = retryAt === null ? round.offlineNow : round.offlineIn(seconds((retryAt - now) / 1000));
  let hint = machine.connection.dismissal ?? round.unreachable;
  if (at(view, "training") && progress) hint = round.trainsOn(progress.step, progress.steps);
  else if (at(view, "sending")) hint = units.ready;
  const { done, loaded } = loadedUnits(machine);
  if (done + loaded > 1) hint = `${hint} ${units.inHand(done, loaded)}`;
  return [line, hint, round.offline];
}

function waiting({ machine: { idle, board } }: UnitsView): StatusWords {
  if (idle === "paused" || board?.phase === "paused") return PAUSED;
  if (idle === "quota") return [units.quotaDone, units.idle.quota];
  return [units.waiting, idle === null ? units.soon : units.idle[idle]];
}

function fetching(view: UnitsView): StatusWords {
  const unit = at(view, "fetching") ?? at(view, "queued");
  return [units.fetching, retryHint(view.problem) ?? `${nameOf(unit)}.`, card.training];
}

function training(view: UnitsView): StatusWords {
  const unit = at(view, "training");
  const name = nameOf(unit);
  if (!view.progress) return [units.beginning, retryHint(view.problem) ?? `${name}.`, card.training];
  const { step, steps, loss } = view.progress;
  return [
    units.stepInUnit(step, steps, unit?.unit ?? 0),
    `${name}. ${card.loss(loss)}`,
    card.spokenStep(name),
  ];
}

/** Returns the first unit in hand at this stage. */
function at({ machine }: UnitsView, stage: UnitStage): Unit | undefined {
  return machine.units.find((one) => one.stage === stage)?.unit;
}

function nameOf(unit: Unit | undefined): string {
  return unit ? units.unit(unit.unit, unit.epoch) : "";
}
