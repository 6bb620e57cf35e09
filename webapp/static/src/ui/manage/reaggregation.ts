/** The dashboard's part about another rule for kept updates: begins a try, and shows it beside what happened. */

import { reaggregationWords as words } from "../../i18n/texts/owners/dashboard/reaggregation";
import { requestJson, showRefusal } from "../lib/api";
import { requireElement, setChildren, setText } from "../lib/dom";
import { numberOf, onSubmit } from "../lib/forms";
import { pollAfterChange } from "./polling";
import { fillRow } from "./rows";
import type { TextRow } from "./tables";

/** The shortest interval between two looks, in milliseconds. */
const EVERY = 1000;

interface MeasuredVersion {
  readonly loss: number;
  readonly metrics: Readonly<Record<string, number>>;
}

interface RuleOutcome {
  readonly left_out: readonly string[];
  readonly evaluation: MeasuredVersion | null;
}

/** A round of a report, as docs/reference/http.md describes it. */
export interface ReaggregatedRound {
  readonly round: number;
  readonly made: number;
  readonly real: RuleOutcome;
  readonly tried: RuleOutcome;
  readonly distance: number;
  readonly relative: number | null;
}

/** The report of the last try of a rule. */
export interface ReaggregationReport {
  readonly kept: {
    readonly rounds: readonly unknown[];
    readonly most_rounds: number;
    readonly bytes: number;
    readonly problem: string;
  };
  readonly state: "none" | "waiting" | "running" | "done" | "failed" | "cancelled";
  readonly reason: string;
  readonly rule: string;
  readonly attackers: number;
  readonly planned: number;
  readonly measured: boolean;
  readonly rounds: readonly ReaggregatedRound[];
}

/** Returns the cells of a round. */
export function roundTexts({ round, made, real, tried, distance, relative }: ReaggregatedRound): TextRow {
  return [
    words.number(round),
    words.number(made),
    words.accuracy(real.evaluation?.metrics.accuracy),
    words.accuracy(tried.evaluation?.metrics.accuracy),
    words.loss(real.evaluation?.loss),
    words.loss(tried.evaluation?.loss),
    words.distance(distance, relative),
    words.clients(real.left_out),
    words.clients(tried.left_out),
  ];
}

function roundRow(round: ReaggregatedRound): HTMLTableRowElement {
  const row = document.createElement("tr");
  fillRow(row, roundTexts(round));
  return row;
}

/** Returns how far a try is, in words. */
export function stateText({ state, reason, rule, attackers, planned, rounds }: ReaggregationReport): string {
  const texts: Readonly<Record<ReaggregationReport["state"], string>> = {
    none: "",
    waiting: words.waiting,
    running: words.running(rule, rounds.length, planned),
    done: words.done(rule, attackers),
    failed: words.failed(rule, reason),
    cancelled: words.cancelled,
  };
  return texts[state];
}

/** Binds the part, if the page has one; returns a function to call whenever a round has ended. */
export function bindReaggregation(page: HTMLElement, task: string): () => void {
  const part = page.querySelector<HTMLElement>("[data-reaggregation]");
  if (!part) return () => undefined;
  const address = `/api/tasks/${task}/reaggregation`;
  const body = requireElement<HTMLTableSectionElement>(part, "reaggregation-rows");
  const form = part.querySelector<HTMLFormElement>("[data-reaggregation-form]");
  const changed = pollAfterChange(look, EVERY);

  async function look(): Promise<number> {
    // If it fails now, the next change fetches it again.
    const report = await requestJson("GET", address).catch(() => null);
    if (report !== null) show(report as ReaggregationReport);
    return 0;
  }

  function show(report: ReaggregationReport): void {
    if (!part) return;
    const { kept, rounds, state } = report;
    const isRunning = state === "waiting" || state === "running";
    setText(requireElement(part, "kept"), words.kept(kept.rounds.length, kept.most_rounds, kept.bytes));
    setText(requireElement(part, "kept-problem"), kept.problem);
    setText(requireElement(part, "reaggregation-state"), stateText(report));
    requireElement(part, "reaggregation-result").hidden = rounds.length === 0;
    requireElement(part, "unmeasured").hidden = report.measured;
    setChildren(body, rounds.map(roundRow));
    if (form) {
      requireElement<HTMLButtonElement>(form, "reaggregation-begin").disabled = isRunning;
      requireElement(form, "reaggregation-cancel").hidden = !isRunning;
    }
    if (isRunning) changed();
  }

  if (form) bindForm(form, address, (report) => show(report), changed);
  return changed;
}

function bindForm(
  form: HTMLFormElement,
  address: string,
  show: (report: ReaggregationReport) => void,
  changed: () => void,
): void {
  const problem = requireElement(form, "reaggregation-problem");
  onSubmit(form, problem, async (data) => {
    const before = data.get("nnm") === null ? [] : ["nnm"];
    const choice = { rule: data.get("rule"), attackers: numberOf(data, "attackers"), before };
    show((await requestJson("POST", address, choice)) as ReaggregationReport);
  });
  requireElement(form, "reaggregation-cancel").addEventListener("click", () => {
    void showRefusal(problem, async () => {
      await requestJson("DELETE", address);
      changed();
    });
  });
}
