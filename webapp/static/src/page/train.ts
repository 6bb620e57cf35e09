/** The training page: one button, what happens in words, who takes part, and the curves. */

import { Session, type View } from "../network/session";
import { SocketTransport, socketAddress } from "../network/socket";
import { ownToken } from "../network/token";
import { type Loaded, Trainer } from "../network/trainer";
import { backendName, decimal, milliseconds, number } from "../shared/format";
import { Curve } from "./chart";
import { backendChoice } from "./choice";
import { part, write } from "./dom";
import { bindTry } from "./draw";
import "./minga.css";
import { bindOwn } from "./own/own";
import { showPeople } from "./people";
import { keepFresh } from "./refresh";
import { statusOf } from "./status";
import { showVersions } from "./versions";
import { wakeLock } from "./wake";

/** As many of the latest steps as the curve shows. */
const STEPS_SHOWN = 600;

const root = part(document, "train");
const button = part<HTMLButtonElement>(root, "action");
const chosenBackend = backendChoice(root);
const drawVersions = showVersions();
const refresh = keepFresh(20, drawVersions);
const stayAwake = wakeLock((sentence) => {
  part(root, "awake").hidden = sentence === null;
  write(part(root, "awake"), sentence ?? "");
});

const mine = new Curve(part(root, "curve-mine"), "Step", [
  { label: "Trend", colour: "--cochineal", side: "left", format: decimal },
  { label: "Each step", colour: "--ink-soft", side: "left", format: decimal, scale: "Trend", faint: true },
]);
/** The latest steps: number, trend of the loss (exponential mean), loss. */
const learned: { step: number; trend: number; loss: number }[] = [];

/** The volunteer's own files, where the task trains on them. */
const ownSection = root.querySelector<HTMLElement>("[data-own]");
const own = ownSection && bindOwn(ownSection, scheduleRender);

const session = new Session({
  transport: new SocketTransport(socketAddress(location.origin, root.dataset.task ?? "")),
  trainer: (recovered) => new Trainer(recovered, own?.spawn),
  origin: location.origin,
  token: ownToken(),
  agent: "minga-page/0.1",
  examples: () => own?.examples ?? 0,
  changed: scheduleRender,
  heard: (frame) => {
    if (frame.type === "version" || frame.type === "evaluated") void refresh();
  },
  progressed: ({ loss }) => {
    const before = learned.at(-1) ?? { step: 0, trend: loss };
    learned.push({ step: before.step + 1, trend: 0.8 * before.trend + 0.2 * loss, loss });
    if (learned.length > STEPS_SHOWN) learned.shift();
  },
});

function goesOn({ backend, sliced }: Loaded): string {
  return `The round goes on with ${backendName(backend)}${sliced ? ", in smaller pieces" : ""}.`;
}

const title = document.title;
let shown: View["task"] = null;
let scheduled = false;
function scheduleRender(): void {
  if (scheduled) return;
  scheduled = true;
  // A timer and not a frame: hidden pages draw no frames, but their title stays true.
  setTimeout(() => {
    scheduled = false;
    render();
  }, 100);
}

function render(): void {
  const { view } = session;
  const { machine, progress } = view;
  const status = statusOf(view, performance.now(), own?.examples ?? null);
  const running = machine.link !== "closed";

  part(root, "status").dataset.phase = status.phase;
  write(part(root, "status-line"), status.line);
  write(part(root, "status-hint"), status.hint);
  write(part(root, "status-spoken"), status.spoken);
  const bar = part<HTMLProgressElement>(root, "progress");
  [bar.value, bar.max] = status.steps ?? [0, 1];

  button.dataset.action = running ? "stop" : "start";
  write(button, running ? "Stop" : "Start training");
  button.disabled = !running && own?.examples === 0;
  own?.lock(running);
  write(part(root, "accepted"), number(machine.accepted));
  write(part(root, "examples"), number(machine.examples));
  write(part(root, "backend"), view.loaded ? backendName(view.loaded.backend) : "–");
  const notice = view.notice && view.loaded ? `${view.notice} ${goesOn(view.loaded)}` : "";
  part(root, "recovered").hidden = notice === "";
  write(part(root, "recovered"), notice);
  const stepTime = progress?.stepMs ?? machine.ready?.step_ms;
  write(part(root, "step-time"), stepTime === undefined ? "–" : milliseconds(stepTime));

  document.title = running ? `${status.spoken} · Minga` : title;
  if (view.task !== shown) showPeople(root, view.task?.participants ?? null, view.client);
  shown = view.task;
  part(root, "mine-none").hidden = learned.length > 1;
  mine.show([
    learned.map(({ step }) => step),
    learned.map(({ trend }) => trend),
    learned.map(({ loss }) => loss),
  ]);
  stayAwake(running);
}

button.addEventListener("click", () => {
  if (session.view.machine.link === "closed") session.start(chosenBackend());
  else session.stop();
});
render();
// Who closes the page leaves at once, so that nobody waits for this update.
addEventListener("pagehide", () => session.stop());
// Countdowns go on between events.
setInterval(() => {
  if (session.view.machine.link !== "closed") render();
}, 1000);
for (const widget of document.querySelectorAll<HTMLElement>("[data-try]")) bindTry(widget);
