/** The training page of a task with work units: the control card, units, trust, and the curves. */

import { UnitsSession } from "../../../client/units/session";
import { number } from "../../../i18n/formatting";
import { UNITS_PROTOCOL } from "../../../protocol/wire/units";
import { requireElement, setText } from "../../lib/dom";
import { bindPlayground } from "../../playground/playground";
import { bindTraining } from "../training-page";
import { offlineChoice } from "./offline-choice";
import { unitsStatus } from "./status";
import { showEpoch, showTrust, showUnits } from "./unit-list";

/** Binds the page. */
export function bindUnitsPage(): void {
  const { root, control, refresh, options } = bindTraining(UNITS_PROTOCOL);
  const finish = requireElement<HTMLButtonElement>(root, "finish");
  bindPlayground();

  let epoch = 0;
  const session = new UnitsSession({
    ...options,
    received: (frame) => {
      if (frame.type !== "board") return;
      // The end of an epoch makes a version.
      if (frame.epoch !== epoch || frame.phase === "finished") void refresh();
      epoch = frame.epoch;
    },
  });

  session.workOffline(offlineChoice(root, (seconds) => session.workOffline(seconds)));
  finish.addEventListener("click", () => session.finish());
  control.bind({
    look: () => {
      const { view } = session;
      const { machine, progress, loaded, finishing } = view;
      const running = machine.connection.state !== "closed";
      setText(requireElement(root, "counted"), number(machine.counted));
      setText(requireElement(root, "compared"), number(machine.waiting.length));
      setText(requireElement(root, "rejected"), number(machine.rejected));
      finish.hidden = !running || machine.units.length === 0;
      finish.disabled = finishing;
      showUnits(root, view);
      if (machine.standing !== null) showTrust(root, machine.standing);
      if (machine.board !== null) showEpoch(root, machine.board);
      return {
        status: unitsStatus(view, performance.now()),
        running,
        examples: machine.examples,
        loaded,
        stepMs: progress?.stepMs ?? machine.ready?.step_ms,
        notice: view.notice ?? "",
      };
    },
    start: (backend) => void session.start(backend),
    stop: () => session.stop(),
    leave: () => session.leave(),
  });
}
