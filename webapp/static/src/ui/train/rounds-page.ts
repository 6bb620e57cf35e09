/** The training page of a task with rounds: one button, what happens in words, who takes part, and the curves. */

import { Session, type View } from "../../client/session/session";
import type { Loaded } from "../../client/workers/training-worker";
import { say } from "../../i18n";
import { number } from "../../i18n/formatting";
import { PROTOCOL } from "../../protocol/wire/messages";
import { part, write } from "../lib/dom";
import { bindTrial } from "../playground/playground";
import { seenOf } from "./masked-status";
import { minimumChoice } from "./masking-minimum";
import { showPeople } from "./participants";
import { statusOf } from "./status";
import { bindTraining } from "./training-page";
import { hearVersions } from "./version-events";

/** Binds the page. */
export function bindRoundsPage(): void {
  const training = bindTraining(PROTOCOL);
  const { root, control } = training;
  const chosenMinimum = minimumChoice(root);
  const session: Session = new Session({
    ...training.options,
    examples: () => control.own?.examples ?? 0,
    heard: hearVersions(training, (weights) => session.examine(weights)),
    made: bindTrial(),
  });
  const showVisibility = visibilityLine(root);
  let listedTask: View["task"] = null;

  control.bind({
    look: () => {
      const { view } = session;
      const { machine, progress, loaded } = view;
      write(part(root, "accepted"), number(machine.accepted));
      showVisibility(view);
      if (view.task !== listedTask) showPeople(root, view.task?.participants ?? null, view.client);
      listedTask = view.task;
      return {
        status: statusOf(view, performance.now(), control.own?.examples ?? null),
        running: machine.contact.link !== "closed",
        examples: view.examples,
        loaded,
        stepMs: progress?.stepMs ?? machine.ready?.step_ms,
        notice: view.notice && loaded ? `${view.notice} ${continuation(loaded)}` : "",
      };
    },
    start: (backend) => session.start(backend, chosenMinimum()),
    stop: () => session.stop(),
  });
}

function continuation({ backend, sliced }: Loaded): string {
  return (sliced ? say.card.goesOnSliced : say.card.goesOnWith)(say.figures.backend(backend));
}

/** The line that says who sees an update; outside of masked rounds it says what the task does. */
function visibilityLine(root: HTMLElement): (view: View) => void {
  const ofTask = part(root, "seen-line").textContent;
  return ({ masked }) => {
    const seen = masked && seenOf(masked);
    write(part(root, "seen-line"), seen?.line ?? ofTask);
    part(root, "seen-roster").hidden = !seen?.roster;
    write(part(root, "seen-roster"), seen?.roster ?? "");
  };
}
