/** The training page: one button, what happens in words, who takes part, and the curves. */

import { Session, type View } from "../client/session/session";
import type { Loaded } from "../client/workers/training-worker";
import { say } from "../i18n";
import { number } from "../i18n/formatting";
import { PROTOCOL } from "../protocol/wire/messages";
import { part, write } from "../ui/lib/dom";
import type { Now } from "../ui/train/control-card";
import { hearVersions } from "../ui/train/version-events";
import "../ui/styles/minga.css";
import { bindTrial } from "../ui/playground/playground";
import { seenOf } from "../ui/train/masked-status";
import { minimumChoice } from "../ui/train/masking-minimum";
import { showPeople } from "../ui/train/participants";
import { statusOf } from "../ui/train/status";
import { bindTraining } from "../ui/train/training-page";

const training = bindTraining(PROTOCOL);
const { root, control } = training;
const chosenMinimum = minimumChoice(root);
const made = bindTrial();

const session: Session = new Session({
  ...training.options,
  examples: () => control.own?.examples ?? 0,
  heard: hearVersions(training, (weights) => session.examine(weights)),
  made,
});

const seenByTask = part(root, "seen-line").textContent;
let shown: View["task"] = null;

function look(): Now {
  const { view } = session;
  const { machine, progress, loaded } = view;
  write(part(root, "accepted"), number(machine.accepted));
  showSeen(view);
  if (view.task !== shown) showPeople(root, view.task?.participants ?? null, view.client);
  shown = view.task;
  return {
    status: statusOf(view, performance.now(), control.own?.examples ?? null),
    running: machine.contact.link !== "closed",
    examples: view.examples,
    loaded,
    stepMs: progress?.stepMs ?? machine.ready?.step_ms,
    notice: view.notice && loaded ? `${view.notice} ${goesOn(loaded)}` : "",
  };
}

function goesOn({ backend, sliced }: Loaded): string {
  return (sliced ? say.card.goesOnSliced : say.card.goesOnWith)(say.figures.backend(backend));
}

/** Outside of masked rounds the page says what the task does. */
function showSeen({ masked }: View): void {
  const seen = masked && seenOf(masked);
  write(part(root, "seen-line"), seen?.line ?? seenByTask);
  part(root, "seen-roster").hidden = !seen?.roster;
  write(part(root, "seen-roster"), seen?.roster ?? "");
}

control.bind({
  look,
  start: (backend) => session.start(backend, chosenMinimum()),
  stop: () => session.stop(),
});
