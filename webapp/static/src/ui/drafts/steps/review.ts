/** The wizard's step `review`: all settings in words, the checklist, and the launch. */

import { say } from "../../../i18n/texts/owners/review";
import { requestJson, showRefusal } from "../../lib/api";
import { requireElement, setText } from "../../lib/dom";
import { bindCopy } from "../copy";
import type { DraftFrame } from "../frame";
import { type DraftRecord, isLive, type StepName } from "../record";
import { showChecks } from "../review/checklist";
import { bindComparison } from "../review/comparison";
import { bindLaunch } from "../review/launch";
import { bindTaskFile } from "../review/task-file";

interface Section {
  readonly step: StepName;
  readonly lines: readonly string[];
}

export function mount(frame: DraftFrame): void {
  const checks = requireElement(document, "checks");
  const sections = requireElement(document, "sections");
  let drawn = "";
  const show = () => {
    // The draft is refreshed every few seconds while jobs run; an open line stays open.
    const { task, jobs, checklist, forecast } = frame.draft();
    const now = JSON.stringify([task, jobs, checklist, forecast]);
    if (now === drawn) return;
    drawn = now;
    showChecks(checks, frame.draft(), () => true, true);
    showForecast(frame.draft());
    void drawSections(sections, frame);
  };
  frame.onChange(show);
  show();
  const choices = '[name="visibility"], [name="newcomers"]';
  for (const choice of document.querySelectorAll<HTMLInputElement>(choices)) {
    choice.addEventListener("input", () => {
      void frame.save({ task: { access: { [choice.name]: choice.value } } });
    });
  }
  bindLaunch(frame);
  bindTaskFile(frame);
  bindCopy(frame);
  bindComparison(frame);
}

/** Says what to expect of the plan, and warns of one that ends at chance. */
function showForecast({ forecast, jobs }: DraftRecord): void {
  const trying = forecast === null && isLive(jobs.forecast) ? say.trying : "";
  setText(requireElement(document, "forecast"), forecast?.warns === false ? forecast.text : trying);
  setText(requireElement(document, "forecast-warning"), forecast?.warns ? forecast.text : "");
}

async function drawSections(place: HTMLElement, frame: DraftFrame): Promise<void> {
  await showRefusal(requireElement(document, "problem"), async () => {
    const answer = (await requestJson("GET", `${frame.address}/review`)) as { sections: readonly Section[] };
    place.replaceChildren(...answer.sections.map((section) => sectionElement(section, frame.id)));
  });
}

function sectionElement({ step, lines }: Section, id: string): HTMLElement {
  const result = document.createElement("section");
  result.className = "told";
  result.dataset.section = step;
  const head = document.createElement("h4");
  const link = document.createElement("a");
  link.href = `/drafts/${id}/${step}`;
  link.append(say.steps[step]);
  head.append(link);
  const list = document.createElement("ul");
  for (const line of lines.length > 0 ? lines : [say.nothing]) {
    const item = document.createElement("li");
    item.append(line);
    list.append(item);
  }
  result.append(head, list);
  return result;
}
