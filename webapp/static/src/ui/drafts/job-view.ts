/** Work of the server as it is told on a page: its line, its log, and what can be done about it. */

import { say } from "../../i18n/owners/job";
import { part, write } from "../lib/dom";
import type { Frame } from "./frame";
import type { Work } from "./jobs";
import { type DraftRecord, isLive, type Job, type JobKind } from "./record";

/**
 * Binds `drafts/_job.html` for `kind`. It is shown once the work was asked for, or `ready` says that it could be;
 * `said` is what came of it in a sentence, by default the last of its log.
 */
export function bindJob(
  frame: Frame,
  kind: JobKind,
  ready: (draft: DraftRecord) => boolean,
  said: (job: Job) => string = lastOf,
): void {
  const root = part(document, `job-${kind}`);
  const again = part<HTMLButtonElement>(root, "job-ask");
  const problem = part(root, "job-problem");
  let work: Work | null = null;
  let shown: number | null = null;

  const heard = {
    line(text: string): void {
      write(part(root, "job-line"), text);
      log(root, text);
    },
    done(): void {
      work = null;
      paint();
    },
    refused(why: string): void {
      work = null;
      write(problem, why);
      paint();
    },
  };

  function paint(): void {
    const draft = frame.draft();
    const job = draft.jobs[kind];
    const live = isLive(job) || work !== null;
    // Work that no launch waits for, such as a look at a sample, stands in no checklist.
    const state = draft.checklist.find(({ key }) => key === kind)?.state ?? job?.state;
    // The server begins it by itself, one job after the other.
    const soon = job === undefined && draft.onward && Object.values(draft.jobs).some(isLive);
    root.hidden = job === undefined && !ready(draft);
    part(root, "job-progress").hidden = !live;
    part(root, "job-cancel").hidden = !live;
    again.hidden = live || soon || !ready(draft) || state === "done";
    if (job !== undefined && job.asked !== shown) begun(job);
    if (job === undefined && work === null) write(part(root, "job-line"), soon ? say.soon : say.missing);
    if (live || job === undefined) return;
    write(part(root, "job-line"), state === "done" ? said(job) : endOf(job));
    write(problem, job.state === "failed" ? lastOf(job) : "");
  }

  /** Another one than the page tells of: its log from the beginning. */
  function begun(job: Job): void {
    shown = job.asked;
    if (work !== null) return;
    part(root, "job-log").replaceChildren();
    write(problem, "");
    if (!isLive(job)) for (const { text } of job.log) log(root, text);
    else {
      write(part(root, "job-line"), job.log.at(-1)?.text ?? say.waits);
      work = frame.follow(kind, heard);
    }
  }

  again.addEventListener("click", () => {
    write(problem, "");
    write(part(root, "job-line"), say.waits);
    part(root, "job-log").replaceChildren();
    work = frame.work(kind, heard);
    paint();
  });
  part(root, "job-cancel").addEventListener("click", () => void work?.cancel());
  frame.onChange(paint);
  paint();
}

function endOf({ state }: Job): string {
  if (state === "cancelled") return say.cancelled;
  return state === "failed" ? "" : say.outdated;
}

function lastOf(job: Job): string {
  return job.log.at(-1)?.text ?? "";
}

function log(root: HTMLElement, text: string): void {
  const line = document.createElement("li");
  line.textContent = text;
  part(root, "job-log").append(line);
}
