/** The dashboard's part about suspects: what the settings bear now, and whose updates look false, with reasons. */

import { manage } from "../../i18n/texts/owners/dashboard/manage";
import { suspectWords } from "../../i18n/texts/owners/dashboard/suspects";
import { participantName } from "../../i18n/texts/volunteers/participant-names";
import { requestJson, showRefusal } from "../lib/api";
import { makeButton } from "../lib/button";
import { requireElement, setChildren, setText } from "../lib/dom";
import type { DashboardNow, JudgedRound, Suspect, Tolerance } from "./frames";
import { fillRow } from "./rows";
import type { TextRow } from "./tables";

/** The column of the timeline. */
const TIMELINE = 4;

/** Returns a function that shows the suspects of a task; `mayLead` says whether this account may lift suspicion. */
export function suspectTable(
  page: HTMLElement,
  task: string,
  mayLead: boolean,
  problem: HTMLElement,
): (now: Pick<DashboardNow, "tolerance" | "suspects">) => void {
  const part = page.querySelector<HTMLElement>("[data-suspects]");
  if (part === null) return () => undefined;
  const body = requireElement<HTMLTableSectionElement>(part, "suspect-rows");
  let shown = "";

  const lift = (client: string) =>
    void showRefusal(problem, async () => {
      await requestJson("POST", `/api/tasks/${task}/participants/${client}`, { act: "lift" });
    });

  return ({ tolerance, suspects }) => {
    part.hidden = tolerance === null;
    if (tolerance === null) return;
    setText(requireElement(part, "tolerance"), toleranceWords(tolerance, suspects !== null));
    requireElement(part, "suspect-part").hidden = suspects === null;
    // Rows are kept while nothing changes, because a person may be about to press a button.
    const key = JSON.stringify(suspects);
    if (key === shown) return;
    shown = key;
    setChildren(
      body,
      (suspects ?? []).map((one) =>
        suspectRow(one, tolerance.rule === "", mayLead ? () => lift(one.client) : null),
      ),
    );
  };
}

export function toleranceWords(tolerance: Tolerance, judges: boolean): string {
  const { updates, groups, rule, attackers, repeated } = tolerance;
  const bears = () =>
    groups > 0
      ? suspectWords.bearsInGroups(attackers, updates, groups, rule)
      : suspectWords.bears(attackers, updates, rule);
  const inRound = rule === "" ? suspectWords.bearsNone(updates) : bears();
  if (!judges) return inRound;
  return `${inRound} ${repeated === 0 ? suspectWords.tooFew : suspectWords.findsRepeated(repeated, updates)}`;
}

/** `weighs`: whether an update weighs less in proportion to suspicion, as it does without a robust rule. */
export function suspectTexts(one: Suspect, weighs: boolean): TextRow {
  return [
    `${participantName(one.client)} · ${one.client}`,
    stateWords(one, weighs),
    suspectWords.share(one.share),
    suspectWords.reasons(one.reasons),
  ];
}

function stateWords(one: Suspect, weighs: boolean): string {
  if (one.quarantined) return suspectWords.quarantined(one.left);
  if (!one.counts) return suspectWords.waiting(one.left);
  return weighs && one.share > 0 ? suspectWords.weighLess : suspectWords.counting;
}

function suspectRow(one: Suspect, weighs: boolean, lift: (() => void) | null): HTMLTableRowElement {
  const row = document.createElement("tr");
  row.dataset.suspect = one.client;
  fillRow(row, suspectTexts(one, weighs));
  row.insertCell(TIMELINE).append(timeline(one.timeline));
  if (lift)
    row.insertCell().append(makeButton(manage.treat("lift"), lift, manage.treatWhom("lift", one.client)));
  return row;
}

function timeline(rounds: readonly JudgedRound[]): HTMLElement {
  const bars = document.createElement("span");
  const most = Math.max(...rounds.map(({ share }) => share), 1);
  bars.className = "hour-bars round-bars";
  bars.setAttribute("role", "img");
  const bad = rounds.filter(({ evidence }) => Object.keys(evidence).length > 0);
  bars.setAttribute("aria-label", suspectWords.timeline(rounds.length, bad.length));
  bars.append(
    ...rounds.map(({ round, share, evidence, counted }) => {
      const column = document.createElement("span");
      column.title = suspectWords.round(
        round,
        suspectWords.share(share),
        suspectWords.reasons(Object.keys(evidence)),
      );
      const piece = document.createElement("span");
      piece.dataset.series = counted ? "1" : "4";
      piece.style.setProperty("height", `${(100 * share) / most}%`);
      column.append(piece);
      return column;
    }),
  );
  return bars;
}
