/** The dashboard, on which owners monitor and control a task, and remove participants. */

import { manage } from "../../i18n/texts/owners/dashboard/manage";
import { requestJson, showRefusal } from "../lib/api";
import { makeButton } from "../lib/button";
import { enableButtons, requireElement, setText } from "../lib/dom";
import { type Pager, tablePager } from "../lib/pager";
import { toast } from "../lib/toast";
import { bindFiles } from "../task/version-files";
import { fillAlerts, partAlerts } from "./alerts";
import { bindComparison } from "./comparison";
import { bindContinuation } from "./continuation";
import { watch } from "./dashboard-socket";
import { bindTaskDeletion, bindTaskExport } from "./deletion";
import type {
  Alert,
  DashboardFrame,
  DashboardHistory,
  DashboardNow,
  DashboardParticipant,
  IntegrityReport,
} from "./frames";
import { TaskLossCurve } from "./loss-curve";
import { bindMembers } from "./mesh/members";
import { showParticipants } from "./participants";
import { bindReaggregation } from "./reaggregation";
import { refusalChart } from "./refusal-chart";
import { fillRows } from "./rows";
import { suspectTable } from "./suspects";
import { countRows, figures, roundRows, type TextRow } from "./tables";
import { bindUnits } from "./units";
import { bindVersionChecks } from "./versions/version-checks";
import { fillVersions, type ShownVersion, shownVersions } from "./versions/versions";

const TIME = new Intl.DateTimeFormat(document.documentElement.lang, {
  dateStyle: "medium",
  timeStyle: "short",
});

/** Binds the page. */
export function bindDashboard(): void {
  const page = requireElement(document, "manage");
  const dashboard = new Dashboard(page);
  watch(
    page.dataset.manage ?? "",
    (frame) => dashboard.show(frame),
    (lost) => setText(requireElement(page, "connection"), lost ? manage.away : ""),
    (reason) => setText(requireElement(document, "problem"), reason),
  );
  enableButtons();
}

/** Updates the dashboard. Owns what it shows of its task. */
class Dashboard {
  readonly #page: HTMLElement;
  readonly #task: string;
  readonly #mayLead: boolean;
  readonly #mayRestore: boolean;
  readonly #words: typeof manage.ofRounds;
  readonly #problem = requireElement(document, "problem");
  readonly #losses: TaskLossCurve;
  readonly #showRefusals: ReturnType<typeof refusalChart>;
  readonly #participants: Pager<DashboardParticipant>;
  readonly #versions: Pager<ShownVersion>;
  readonly #rounds: Pager<TextRow>;
  readonly #unitsChanged: () => void;
  readonly #membersChanged: () => void;
  readonly #roundEnded: () => void;
  readonly #showSuspects: ReturnType<typeof suspectTable>;
  readonly #showChecks: (report: IntegrityReport | null) => void;
  #newest = 0;

  constructor(page: HTMLElement) {
    this.#page = page;
    this.#task = page.dataset.manage ?? "";
    this.#mayLead = page.dataset.lead === "true";
    this.#mayRestore = this.#mayLead && page.dataset.scheme === "federated";
    this.#words = page.dataset.scheme === "volunteer" ? manage.ofEpochs : manage.ofRounds;
    bindFiles(requireElement(page, "versions"));
    bindTaskExport(page, this.#task);
    bindTaskDeletion(page, this.#task);
    bindContinuation(page, this.#task);
    this.#unitsChanged = bindUnits(page, this.#task);
    this.#membersChanged = bindMembers(page, this.#task);
    this.#roundEnded = bindReaggregation(page, this.#task);
    this.#showSuspects = suspectTable(page, this.#task, this.#mayLead, this.#problem);
    this.#showChecks = bindVersionChecks(page, this.#task, this.#mayLead);
    const heading = requireElement(page, "curve-heading").textContent?.trim() ?? "";
    this.#losses = new TaskLossCurve(requireElement(page, "curve"), this.#task, heading);
    bindComparison(page, (tasks) => this.#losses.compare(tasks));
    this.#showRefusals = refusalChart(page, TIME);
    this.#participants = this.#participantPages();
    this.#versions = this.#versionPages();
    const rounds = requireElement<HTMLTableSectionElement>(page, "rounds");
    this.#rounds = tablePager(rounds, (rows) => fillRows(rounds, rows));
  }

  #participantPages(): Pager<DashboardParticipant> {
    const body = requireElement(this.#page, "participants");
    const table = { body, task: this.#task, mayLead: this.#mayLead, problem: this.#problem };
    return tablePager(body, (rows) => showParticipants(table, rows));
  }

  #versionPages(): Pager<ShownVersion> {
    const body = requireElement(this.#page, "versions");
    const restore = this.#mayRestore ? (version: number) => this.#restore(version) : null;
    return tablePager(body, (rows) => fillVersions(body, this.#task, rows, TIME, restore));
  }

  show(frame: DashboardFrame): void {
    if (frame.type === "history") this.#showHistory(frame);
    else this.#showNow(frame);
  }

  #showNow(now: DashboardNow): void {
    const page = this.#page;
    setText(
      requireElement(page, "state"),
      manage.state(this.#words, now.state, now.phase, now.round, now.needed),
    );
    requireElement(page, "standing").dataset.phase = now.phase;
    setText(requireElement(page, "reason"), now.reason);
    figures(now).forEach((text, index) => {
      const element = requireElement(page, "figures").querySelectorAll("dd")[index];
      if (element) setText(element, text);
    });
    this.#showOrders(now.orders);
    this.#showAlerts(now);
    fillRows(requireElement(page, "refusals"), countRows(now.totals.refusals, manage.refusal));
    fillRows(requireElement(page, "backends"), countRows(now.totals.backends, manage.runnerOf));
    this.#participants.show(now.participants);
    this.#showSuspects(now);
    this.#unitsChanged();
    this.#membersChanged();
  }

  #showHistory(history: DashboardHistory): void {
    const { rounds, curve: points, best } = history;
    this.#rounds.show(roundRows(rounds, this.#words));
    this.#losses.showHistory(history);
    this.#showRefusals(history.refusals);
    this.#showChecks(history.integrity);
    this.#roundEnded();
    this.#newest = points.at(-1)?.version ?? 0;
    this.#versions.show(shownVersions(points, best));
  }

  #restore(version: number): void {
    if (!confirm(manage.questionBack(version, this.#newest - version))) return;
    void showRefusal(this.#problem, async () => {
      await requestJson("POST", `/api/tasks/${this.#task}/restore`, { version });
      toast(manage.wentBack(version));
    });
  }

  #showAlerts(now: DashboardNow): void {
    const page = this.#page;
    const { open, earlier } = partAlerts(now.alerts);
    const acknowledge = ({ id }: Alert) =>
      void showRefusal(this.#problem, async () => {
        await requestJson("POST", `/api/tasks/${this.#task}/alerts/${id}`, { act: "acknowledge" });
      });
    const undelivered = now.undelivered === null ? [] : [now.undelivered];
    fillAlerts(requireElement(page, "alerts"), undelivered, open, TIME, this.#mayLead ? acknowledge : null);
    fillAlerts(requireElement(page, "earlier"), [], earlier, TIME, null);
    requireElement(page, "earlier-fold").hidden = earlier.length === 0;
    requireElement(page, "no-alerts").hidden = open.length + undelivered.length > 0;
  }

  /** Shows the commands. Buttons are kept while nothing changes, because a person may be about to press one. */
  #showOrders(orders: readonly string[]): void {
    const host = requireElement(this.#page, "orders");
    if (!this.#mayLead || host.dataset.shown === orders.join(" ")) return;
    host.dataset.shown = orders.join(" ");
    host.replaceChildren(...orders.map((order) => this.#orderButton(order)));
  }

  #orderButton(order: string): HTMLButtonElement {
    return makeButton(manage.order(this.#words, order), () => {
      const question = manage.question(this.#words, order);
      if (question !== null && !confirm(question)) return;
      const address = `/api/tasks/${this.#task}/orders`;
      void showRefusal(this.#problem, async () => void (await requestJson("POST", address, { order })));
    });
  }
}
