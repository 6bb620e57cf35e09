/** The checks of versions for signs of a backdoor, and the question to the owner about one that did not pass. */

import { say } from "../../../i18n/texts/owners/dashboard/checks";
import { requestJson, showRefusal } from "../../lib/api";
import { requireElement, setText } from "../../lib/dom";
import type { IntegrityReport, VersionCheck } from "../frames";
import { fillRows } from "../rows";
import type { TextRow } from "../tables";

/** Returns the rows of the table: version, outcome and score, the newest first. */
export function checkRows(report: IntegrityReport): readonly TextRow[] {
  const waiting = report.waiting.map((version) => [say.version(version), say.waits, say.none]);
  const done = [...report.checks]
    .reverse()
    .map((check) => [say.version(check.version), say.outcome(check), say.score(check.score)]);
  return [...waiting, ...done];
}

/** Returns each part of a check in words. */
export function partTexts(check: VersionCheck): readonly string[] {
  return check.parts.map((part) => say.part(part.name, part.score, part.reason));
}

/** Binds the part of the page; returns what shows a report, null where versions are not checked. */
export function bindVersionChecks(
  page: HTMLElement,
  task: string,
  mayLead: boolean,
): (report: IntegrityReport | null) => void {
  const section = requireElement(page, "checks");
  const question = requireElement(section, "check-question");
  const problem = requireElement(section, "check-problem");
  const body = requireElement<HTMLTableSectionElement>(section, "check-rows");
  const [back, accept] = ["check-back", "check-accept"].map((name) =>
    requireElement<HTMLButtonElement>(section, name),
  ) as [HTMLButtonElement, HTMLButtonElement];
  let shown: IntegrityReport | null = null;

  function decide(path: string, version: number | undefined): void {
    void showRefusal(problem, async () => {
      await requestJson("POST", `/api/tasks/${task}/${path}`, { version });
    });
  }
  back.addEventListener("click", () => decide("restore", shown?.offered));
  accept.addEventListener("click", () => decide("accept", shown?.question?.version));

  return (report) => {
    shown = report;
    section.hidden = report === null;
    if (report === null) return;
    setText(requireElement(section, "check-offered"), say.offered(report.offered));
    question.hidden = report.question === null;
    requireElement(section, "check-buttons").hidden = !mayLead;
    if (report.question !== null) showQuestion(section, report, report.question);
    fillRows(body, checkRows(report));
  };
}

function showQuestion(section: HTMLElement, report: IntegrityReport, check: VersionCheck): void {
  setText(requireElement(section, "check-title"), say.title(check));
  setText(requireElement(section, "check-back"), say.back(report.offered));
  setText(requireElement(section, "check-accept"), say.accept(check.version));
  const parts = requireElement(section, "check-parts");
  const texts = partTexts(check);
  if ([...parts.children].map((item) => item.textContent).join() === texts.join()) return;
  parts.replaceChildren(
    ...texts.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }),
  );
}
