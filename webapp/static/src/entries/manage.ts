/** The page on which owners watch a task, lead it, and send participants away. */

import "../ui/styles/minga.css";
import { say } from "../i18n";
import { decimal } from "../i18n/formatting";
import { ask, trying } from "../ui/lib/api";
import { button } from "../ui/lib/button";
import { Curve } from "../ui/lib/chart";
import { arrange, part, wake, write } from "../ui/lib/dom";
import { toast } from "../ui/lib/toast";
import { fillAlerts } from "../ui/manage/alerts";
import { watch } from "../ui/manage/dashboard-socket";
import { bindDeleting } from "../ui/manage/deletion";
import type { Alert, Frame, History, Now, Participant } from "../ui/manage/frames";
import { fillRow, fillRows } from "../ui/manage/rows";
import { countRows, figures, participantRow, roundRows } from "../ui/manage/tables";
import { bindUnits } from "../ui/manage/units";
import { fillVersions } from "../ui/manage/versions";
import { bindFiles } from "../ui/task/version-files";

const page = part(document, "manage");
const task = page.dataset.manage ?? "";
const mayLead = page.dataset.lead === "true";
const mayRestore = mayLead && page.dataset.scheme === "federated";
const words = page.dataset.scheme === "volunteer" ? say.manage.ofEpochs : say.manage.ofRounds;
const told = part(document, "problem");
const TIME = new Intl.DateTimeFormat(document.documentElement.lang, {
  dateStyle: "short",
  timeStyle: "short",
});
const ROUNDS_SHOWN = 50;

const curve = new Curve(part(document, "curve"), say.curves.version, [
  { label: say.manage.heldOut, colour: "--lake", side: "left", format: decimal },
  {
    label: say.manage.training,
    colour: "--saffron-strong",
    side: "left",
    format: decimal,
    scale: say.manage.heldOut,
  },
  {
    label: say.manage.lowest,
    colour: "--ink-soft",
    side: "left",
    format: decimal,
    scale: say.manage.heldOut,
    faint: true,
  },
  {
    label: say.manage.highest,
    colour: "--ink-soft",
    side: "left",
    format: decimal,
    scale: say.manage.heldOut,
    faint: true,
  },
  {
    label: say.curves.leftBehind,
    colour: "--cochineal",
    side: "left",
    format: decimal,
    scale: say.manage.heldOut,
    dashed: true,
    rare: true,
  },
]);

let newest = 0;
bindFiles(part(page, "versions"));
bindDeleting(page, task);
const unitsChanged = bindUnits(page, task);

function heard(frame: Frame): void {
  if (frame.type === "history") showHistory(frame);
  else showNow(frame);
}

function showNow(now: Now): void {
  write(part(page, "state"), say.manage.state(words, now.state, now.phase, now.round, now.needed));
  part(page, "standing").dataset.phase = now.phase;
  write(part(page, "reason"), now.reason);
  figures(now).forEach((text, index) => {
    const element = part(page, "figures").querySelectorAll("dd")[index];
    if (element) write(element, text);
  });
  showOrders(now.orders);
  showAlerts(now);
  fillRows(part(page, "refusals"), countRows(now.totals.refusals, say.manage.refusal));
  fillRows(part(page, "backends"), countRows(now.totals.backends, say.manage.runnerOf));
  showParticipants(now.participants);
  unitsChanged();
}

function showHistory({ rounds, curve: points }: History): void {
  fillRows(part(page, "rounds"), roundRows(rounds.slice(-ROUNDS_SHOWN), words));
  const losses = new Map(rounds.map((one) => [one.round, one.losses]));
  curve.show([
    points.map(({ version }) => version),
    points.map(({ loss, left }) => (left ? null : loss)),
    points.map(({ training_loss }) => training_loss),
    points.map(({ round }) => losses.get(round)?.p10 ?? null),
    points.map(({ round }) => losses.get(round)?.p90 ?? null),
    // From the version on that was gone back to, so that it is seen where the ways part.
    points.map(({ loss, left }, index) => (left || points[index + 1]?.left ? loss : null)),
  ]);
  newest = points.at(-1)?.version ?? 0;
  fillVersions(part(page, "versions"), task, points, TIME, mayRestore ? goBack : null);
}

function goBack(version: number): void {
  if (!confirm(say.manage.questionBack(version, newest - version))) return;
  void trying(told, async () => {
    await ask("POST", `/api/tasks/${task}/restore`, { version });
    toast(say.manage.wentBack(version));
  });
}

/** What lasts, and what its owner has not seen yet, stands open; the rest is folded away. */
function showAlerts(now: Now): void {
  const open = now.alerts.filter((one) => one.cleared === null || one.acknowledged === null);
  const earlier = now.alerts.filter((one) => !open.includes(one));
  const acknowledge = ({ id }: Alert) =>
    void trying(told, async () => {
      await ask("POST", `/api/tasks/${task}/alerts/${id}`, { act: "acknowledge" });
    });
  const undelivered = now.undelivered === null ? [] : [now.undelivered];
  fillAlerts(part(page, "alerts"), undelivered, open, TIME, mayLead ? acknowledge : null);
  fillAlerts(part(page, "earlier"), [], earlier, TIME, null);
  part(page, "earlier-fold").hidden = earlier.length === 0;
  part(page, "no-alerts").hidden = open.length + undelivered.length > 0;
}

/** Buttons stay as they are while nothing changes: somebody may be about to press one. */
function showOrders(orders: readonly string[]): void {
  const host = part(page, "orders");
  if (!mayLead || host.dataset.shown === orders.join(" ")) return;
  host.dataset.shown = orders.join(" ");
  host.replaceChildren(
    ...orders.map((order) =>
      button(say.manage.order(words, order), () => {
        const question = say.manage.question(words, order);
        if (question !== null && !confirm(question)) return;
        void trying(told, async () => void (await ask("POST", `/api/tasks/${task}/orders`, { order })));
      }),
    ),
  );
}

function showParticipants(participants: readonly Participant[]): void {
  const body = part(page, "participants");
  const rows = new Map([...body.querySelectorAll("tr")].map((row) => [row.dataset.client, row]));
  arrange(
    body,
    participants.map((one) => {
      const row = rows.get(one.client) ?? newRow(one.client);
      fillRow(row, participantRow(one));
      if (mayLead) showTreatments(row, one);
      return row;
    }),
  );
}

function newRow(client: string): HTMLTableRowElement {
  const row = document.createElement("tr");
  row.dataset.client = client;
  return row;
}

function showTreatments(row: HTMLTableRowElement, one: Participant): void {
  const acts = one.banned !== null ? ["unban"] : one.status === null ? ["ban"] : ["remove", "ban"];
  if (row.dataset.acts === acts.join(" ")) return;
  row.dataset.acts = acts.join(" ");
  row.querySelector("[data-treat]")?.remove();
  const cell = document.createElement("td");
  cell.dataset.treat = "";
  const address = `/api/tasks/${task}/participants/${one.client}`;
  cell.append(
    ...acts.map((act) =>
      button(
        say.manage.treat(act),
        () => void trying(told, async () => void (await ask("POST", address, { act }))),
        say.manage.treatWhom(act, one.client),
      ),
    ),
  );
  row.append(cell);
}

watch(
  task,
  heard,
  (lost) => write(part(page, "connection"), lost ? say.manage.away : ""),
  (reason) => write(told, reason),
);
wake();
