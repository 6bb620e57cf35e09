/** The training page of a task of work units: one button, what happens in words, units, trust, and the curves. */

import { UnitsSession } from "../../../client/units/session";
import { number } from "../../../i18n/formatting";
import { UNITS_PROTOCOL } from "../../../protocol/wire/units";
import { part, write } from "../../lib/dom";
import { bindTrial } from "../../playground/playground";
import { bindTraining } from "../training-page";
import { unitsStatus } from "./status";
import { showEpoch, showTrust, showUnits } from "./unit-list";

/** Binds the page. */
export function bindUnitsPage(): void {
  const { root, control, refresh, options } = bindTraining(UNITS_PROTOCOL);
  const finish = part<HTMLButtonElement>(root, "finish");
  bindTrial();

  let epoch = 0;
  const session = new UnitsSession({
    ...options,
    heard: (frame) => {
      if (frame.type !== "board") return;
      // An epoch that is over has made a version.
      if (frame.epoch !== epoch || frame.phase === "finished") void refresh();
      epoch = frame.epoch;
    },
  });

  finish.addEventListener("click", () => session.finish());
  control.bind({
    look: () => {
      const { view } = session;
      const { machine, progress, loaded, finishing } = view;
      const running = machine.contact.link !== "closed";
      write(part(root, "counted"), number(machine.counted));
      write(part(root, "compared"), number(machine.waiting.length));
      write(part(root, "rejected"), number(machine.rejected));
      finish.hidden = !running || machine.held.length === 0;
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
  });
}
