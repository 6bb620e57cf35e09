/** The training page of a decentralized task: one button, what happens in words, the mesh as a picture, and the curves. */

import type { Outcome } from "../client/mesh/exchange";
import { MeshSession } from "../client/mesh/session";
import type { MeshView } from "../client/mesh/view";
import { milliseconds, number, percent } from "../i18n/formatting";
import { MESH_PROTOCOL } from "../protocol/wire/mesh";
import { part, write } from "../ui/lib/dom";
import { answeredJson } from "../ui/lib/responses";
import { bindTrial } from "../ui/playground/playground";
import type { Now } from "../ui/train/control-card";
import { draw } from "../ui/train/mesh/picture";
import { Speeds } from "../ui/train/mesh/speeds";
import { meshStatus } from "../ui/train/mesh/status";
import { dotsOf, type LinkRow, linesOf, type ReportedLink, rowsOf, summaryOf } from "../ui/train/mesh/view";
import { bindTraining } from "../ui/train/training-page";
import { hearVersions } from "../ui/train/version-events";
import "../ui/styles/minga.css";

/** The links of others are asked for this often, in milliseconds. */
const REPORTED_EVERY = 5000;

const training = bindTraining(MESH_PROTOCOL);
const { root, task, control } = training;
const picture = root.querySelector<SVGSVGElement>("[data-mesh]");
const made = bindTrial();
const speeds = new Speeds();

const session: MeshSession = new MeshSession({
  ...training.options,
  task,
  examples: () => control.own?.examples ?? 0,
  heard: hearVersions(training, (weights) => session.examine(weights)),
  made,
});

let reported: readonly ReportedLink[] = [];
let last: Pick<Outcome, "fraction" | "seconds"> | null = null;

function look(): Now {
  const { view } = session;
  const { machine, progress, group } = view;
  const now = performance.now();
  write(part(root, "averaged"), number(machine.averaged));
  // What the last average was stays to be read while the next one is made.
  last = group?.outcome ?? last;
  write(part(root, "share"), percent(last?.fraction ?? null));
  write(part(root, "took"), last ? milliseconds(1000 * last.seconds) : "–");
  // Tests and the curious read from it what this device holds.
  root.dataset.holds = machine.enter?.holds ?? "";
  root.dataset.round = String(machine.enter?.round ?? 0);
  drawMesh(view, now);
  return {
    status: meshStatus(view, now, control.own?.examples ?? null),
    running: machine.contact.link !== "closed",
    examples: view.examples,
    loaded: view.loaded,
    stepMs: progress?.stepMs ?? machine.ready?.step_ms,
    notice: view.notice ?? "",
  };
}

function drawMesh(view: MeshView, now: number): void {
  speeds.look(view.links, now);
  const speed = (client: string) => speeds.of(client);
  const dots = dotsOf(view);
  part(root, "mesh-figure").hidden = dots.length < 2;
  if (picture) draw(picture, dots, linesOf(view, reported, speed));
  write(part(root, "mesh-summary"), summaryOf(view));
  part(root, "links").replaceChildren(...rowsOf(view, speed).map(itemOf));
}

function itemOf({ name, way, how, figures }: LinkRow): HTMLLIElement {
  const item = document.createElement("li");
  item.dataset.way = way ?? "none";
  const dot = document.createElement("span");
  dot.className = "dot";
  const [who, what] = [name, [how, figures].filter(Boolean).join(" · ")].map((text) => {
    const span = document.createElement("span");
    span.textContent = text;
    return span;
  });
  item.append(dot, who ?? "", what ?? "");
  return item;
}

/** What the others reported of their links; what the server does not say is not drawn. */
async function askForLinks(): Promise<void> {
  if (session.view.machine.contact.link !== "open" || document.visibilityState !== "visible") return;
  const told = await answeredJson<{ readonly links: readonly ReportedLink[] }>(`/api/tasks/${task}/mesh`);
  if (told === null) return;
  reported = told.links;
  control.changed();
}

control.bind({
  look,
  start: (backend) => void session.start(backend),
  stop: () => session.stop(),
});
setInterval(() => void askForLinks(), REPORTED_EVERY);
