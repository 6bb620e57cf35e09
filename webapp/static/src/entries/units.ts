/** The training page of a task of work units: one button, what happens in words, units, trust, and the curves. */

import { UnitsSession } from "../client/units/session";
import { number } from "../i18n/formatting";
import { UNITS_PROTOCOL } from "../protocol/wire/units";
import { part, write } from "../ui/lib/dom";
import { bindTrial } from "../ui/playground/playground";
import type { Now } from "../ui/train/control-card";
import { bindTraining } from "../ui/train/training-page";
import { unitsStatus } from "../ui/train/units/status";
import { type Comparison, epochOf, type PieceRow, rowsOf, trustOf } from "../ui/train/units/view";
import "../ui/styles/minga.css";

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

function look(): Now {
  const { view } = session;
  const { machine, progress, loaded, finishing } = view;
  const running = machine.contact.link !== "closed";
  write(part(root, "counted"), number(machine.counted));
  write(part(root, "compared"), number(machine.waiting.length));
  write(part(root, "rejected"), number(machine.rejected));
  finish.hidden = !running || machine.held.length === 0;
  finish.disabled = finishing;
  const rows = rowsOf(view);
  part(root, "pieces-none").hidden = rows.length > 0;
  part(root, "pieces").replaceChildren(...rows.map(itemOf));
  showTrust();
  showEpoch();
  return {
    status: unitsStatus(view, performance.now()),
    running,
    examples: machine.examples,
    loaded,
    stepMs: progress?.stepMs ?? machine.ready?.step_ms,
    notice: view.notice ?? "",
  };
}

function itemOf({ lease, doing, name, text, reason }: PieceRow): HTMLLIElement {
  const item = document.createElement("li");
  item.dataset.piece = doing;
  item.dataset.lease = String(lease);
  const dot = document.createElement("span");
  dot.className = "dot";
  const [who, what] = [name, text].map((words) => {
    const span = document.createElement("span");
    span.textContent = words;
    return span;
  });
  item.append(dot, who ?? "", what ?? "");
  if (reason) {
    const why = document.createElement("small");
    why.lang = "en";
    why.textContent = ` ${reason}`;
    what?.append(why);
  }
  return item;
}

function showTrust(): void {
  const { standing } = session.view.machine;
  if (standing === null) return;
  const told = part(root, "trust");
  const [trust, quota] = trustOf(standing, told.dataset.comparison as Comparison);
  write(told, trust);
  note("quota", quota);
}

function showEpoch(): void {
  const { board } = session.view.machine;
  if (board === null) return;
  const now = epochOf(board);
  const bar = part<HTMLProgressElement>(root, "epoch-progress");
  [bar.value, bar.max, bar.hidden] = [now.done, Math.max(1, now.units), false];
  write(part(root, "epoch"), now.line);
  note("epoch-more", now.more);
  note("epoch-measured", now.measured);
}

/** A line that is there only when it says something. */
function note(name: string, text: string): void {
  const line = part(root, name);
  line.hidden = text === "";
  write(line, text);
}

finish.addEventListener("click", () => session.finish());
control.bind({
  look,
  start: (backend) => void session.start(backend),
  stop: () => session.stop(),
});
