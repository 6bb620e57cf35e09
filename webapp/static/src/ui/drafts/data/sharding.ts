/** Shards a draft's data: automatically the first time, and on request after a change. */

import { say } from "../../../i18n/texts/owners/preprocess";
import { requireElement, setText } from "../../lib/dom";
import type { DraftFrame } from "../frame";
import type { JobWork } from "../jobs";
import { node } from "../nodes";
import { type ChecklistItem, isLive } from "../record";

export function mountSharding(place: HTMLElement, frame: DraftFrame): void {
  const button = requireElement<HTMLButtonElement>(place, "cut");
  const cancel = requireElement<HTMLButtonElement>(place, "cut-cancel");
  const stateLine = requireElement(place, "cut-state");
  const log = requireElement(place, "cut-log");
  let work: JobWork | null = null;

  const listener = {
    line: (text: string) => {
      setText(stateLine, text);
      log.append(node("li", text));
    },
    done: () => {
      work = null;
      show();
    },
    refused: (why: string) => {
      work = null;
      show();
      setText(stateLine, why);
    },
    lost: (lost: boolean) => lost && setText(stateLine, say.lost),
  };
  button.addEventListener("click", () => {
    log.replaceChildren();
    work = frame.work("cut", listener);
    show();
  });
  cancel.addEventListener("click", () => void work?.cancel());
  frame.onChange(show);
  show();

  function show(): void {
    const { jobs, checklist } = frame.draft();
    if (work === null && isLive(jobs.cut)) {
      log.replaceChildren();
      work = frame.follow("cut", listener);
    }
    const item = checklist.find(({ key }) => key === "cut");
    const ready = checklist.some(({ key, state }) => key === "convert" && state === "done");
    button.hidden = work !== null || !ready || item?.state === "done";
    setText(button, jobs.cut === undefined ? say.cut : say.again);
    cancel.hidden = work === null;
    if (work === null) setText(stateLine, standing(item, jobs.cut !== undefined, ready));
  }
}

function standing(item: ChecklistItem | undefined, before: boolean, ready: boolean): string {
  if (item?.state === "done" || item?.state === "failed") return item.text;
  if (!ready) return say.waitsForModel;
  return before ? say.outdated : say.notCut;
}
