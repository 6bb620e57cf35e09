/** The training page of a task with rounds: the control card, the participants, and the curves. */

import { type RoundsView, Session } from "../../client/session/session";
import type { LoadedWorker } from "../../client/workers/training-worker";
import { say } from "../../i18n";
import { number } from "../../i18n/formatting";
import { PROTOCOL } from "../../protocol/wire/messages";
import { requireElement, setText } from "../lib/dom";
import { bindPlayground } from "../playground/playground";
import { visibilityOf } from "./masked-status";
import { minimumChoice } from "./masking-minimum";
import { noiseChoice } from "./noise-minimum";
import { showParticipantList } from "./participants";
import { statusOf } from "./status";
import { bindTraining } from "./training-page";
import { versionListener } from "./version-events";

/** Binds the page. */
export function bindRoundsPage(): void {
  const training = bindTraining(PROTOCOL);
  const { root, control } = training;
  const chosenMinimum = minimumChoice(root);
  const chosenNoise = noiseChoice(root);
  const session: Session = new Session({
    ...training.options,
    examples: () => control.own?.examples ?? 0,
    received: versionListener(training, (weights) => session.examine(weights)),
    made: bindPlayground(),
  });
  const showVisibility = visibilityLine(root);
  let listedTask: RoundsView["task"] = null;

  control.bind({
    look: () => {
      const { view } = session;
      const { machine, progress, loaded } = view;
      setText(requireElement(root, "accepted"), number(machine.accepted));
      showVisibility(view);
      if (view.task !== listedTask) showParticipantList(root, view.task?.participants ?? null, view.client);
      listedTask = view.task;
      return {
        status: statusOf(view, performance.now(), control.own?.examples ?? null, training.least),
        running: machine.connection.state !== "closed",
        examples: view.examples,
        loaded,
        stepMs: progress?.stepMs ?? machine.ready?.step_ms,
        notice:
          say.message(view.uncounted) ||
          (view.notice && loaded ? `${view.notice} ${continuation(loaded)}` : ""),
      };
    },
    start: (backend) => session.start(backend, chosenMinimum(), chosenNoise()),
    stop: () => session.stop(),
  });
}

function continuation({ backend, sliced }: LoadedWorker): string {
  return (sliced ? say.card.goesOnSliced : say.card.goesOnWith)(say.figures.backend(backend));
}

/** Returns a function that sets the line on who sees an update; outside of masked rounds it describes the task. */
function visibilityLine(root: HTMLElement): (view: RoundsView) => void {
  const ofTask = requireElement(root, "seen-line").textContent;
  return ({ masked }) => {
    const visibility = masked && visibilityOf(masked);
    setText(requireElement(root, "seen-line"), visibility?.line ?? ofTask);
    requireElement(root, "seen-roster").hidden = !visibility?.roster;
    setText(requireElement(root, "seen-roster"), visibility?.roster ?? "");
  };
}
