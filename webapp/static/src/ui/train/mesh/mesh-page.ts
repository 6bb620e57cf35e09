/** The training page of a decentralized task: the control card, the mesh as a picture, and the curves. */

import type { GroupOutcome } from "../../../client/mesh/exchange";
import { MeshSession } from "../../../client/mesh/session";
import { milliseconds, number, percent } from "../../../i18n/formatting";
import { MESH_PROTOCOL } from "../../../protocol/wire/mesh";
import { requireElement, setText } from "../../lib/dom";
import { bindPlayground } from "../../playground/playground";
import { bindTraining } from "../training-page";
import { versionListener } from "../version-events";
import { MeshFigure } from "./mesh-figure";
import { meshStatus } from "./status";

/** The page tells so many of its last findings: more than a court and a validation have together. */
const FINDINGS = 33;

/** Binds the page. */
export function bindMeshPage(): void {
  const training = bindTraining(MESH_PROTOCOL);
  const { root, task, control } = training;
  const session: MeshSession = new MeshSession({
    ...training.options,
    task,
    examples: () => control.own?.examples ?? 0,
    received: versionListener(training, (weights) => session.examine(weights)),
    made: bindPlayground(),
  });
  const figure = new MeshFigure(root, task);
  let last: Pick<GroupOutcome, "fraction" | "seconds"> | null = null;

  control.bind({
    look: () => {
      const { view } = session;
      const { machine, progress, group } = view;
      const now = performance.now();
      setText(requireElement(root, "averaged"), number(machine.averaged));
      // The outcome of the last group stays visible while the next average is computed.
      last = group?.outcome ?? last;
      setText(requireElement(root, "share"), percent(last?.fraction ?? null));
      setText(requireElement(root, "took"), last ? milliseconds(1000 * last.seconds) : "–");
      // Tests and benchmarks read from these attributes which weights the device holds, and what it found.
      root.dataset.holds = machine.enter?.holds ?? "";
      root.dataset.round = String(machine.enter?.round ?? 0);
      root.dataset.checked = String(view.byzantine?.findings.length ?? 0);
      root.dataset.findings = JSON.stringify(view.byzantine?.findings.slice(-FINDINGS) ?? []);
      figure.draw(view, now);
      return {
        status: meshStatus(view, now, control.own?.examples ?? null, Math.max(2, training.least)),
        running: machine.connection.state !== "closed",
        examples: view.examples,
        loaded: view.loaded,
        stepMs: progress?.stepMs ?? machine.ready?.step_ms,
        notice: view.notice ?? "",
      };
    },
    start: (backend) => void session.start(backend),
    stop: () => session.stop(),
  });
  figure.pollReports(() => session.view.machine.connection.state === "open", control.changed);
}
