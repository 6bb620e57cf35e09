/** The cut of a draft's data: begun by itself the first time, and by hand after a change. */

import { say } from "../../../i18n/owners/preprocess";
import { part, write } from "../../lib/dom";
import type { Frame } from "../frame";
import type { Work } from "../jobs";
import { node } from "../nodes";
import { type Item, isLive } from "../record";

export function mountCut(place: HTMLElement, frame: Frame): void {
  const button = part<HTMLButtonElement>(place, "cut");
  const cancel = part<HTMLButtonElement>(place, "cut-cancel");
  const told = part(place, "cut-state");
  const log = part(place, "cut-log");
  let work: Work | null = null;

  const heard = {
    line: (text: string) => {
      write(told, text);
      log.append(node("li", text));
    },
    done: () => {
      work = null;
      show();
    },
    refused: (why: string) => {
      work = null;
      show();
      write(told, why);
    },
    lost: (lost: boolean) => lost && write(told, say.lost),
  };
  button.addEventListener("click", () => {
    log.replaceChildren();
    work = frame.work("cut", heard);
    show();
  });
  cancel.addEventListener("click", () => void work?.cancel());
  frame.onChange(show);
  show();

  function show(): void {
    const { jobs, checklist } = frame.draft();
    if (work === null && isLive(jobs.cut)) {
      log.replaceChildren();
      work = frame.follow("cut", heard);
    }
    const item = checklist.find(({ key }) => key === "cut");
    const ready = checklist.some(({ key, state }) => key === "convert" && state === "done");
    button.hidden = work !== null || !ready || item?.state === "done";
    write(button, jobs.cut === undefined ? say.cut : say.again);
    cancel.hidden = work === null;
    if (work === null) write(told, standing(item, jobs.cut !== undefined, ready));
  }
}

function standing(item: Item | undefined, before: boolean, ready: boolean): string {
  if (item?.state === "done" || item?.state === "failed") return item.text;
  if (!ready) return say.waitsForModel;
  return before ? say.outdated : say.notCut;
}
