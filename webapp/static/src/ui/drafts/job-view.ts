/** Shows a job of the server: its state, its log, and its buttons. */

import { say } from "../../i18n/texts/owners/job";
import { requireElement, setText } from "../lib/dom";
import type { DraftFrame } from "./frame";
import type { JobWork } from "./jobs";
import { type DraftJob, type DraftRecord, isLive, type JobKind } from "./record";

/**
 * Binds `drafts/_job.html` for `kind`. It is shown once the job was requested, or if `ready` says that it could be;
 * `summary` returns its result in a sentence, by default the last line of its log.
 */
export function bindJobView(
  frame: DraftFrame,
  kind: JobKind,
  ready: (draft: DraftRecord) => boolean,
  summary: (job: DraftJob) => string = lastOf,
): void {
  const root = requireElement(document, `job-${kind}`);
  const requestButton = requireElement<HTMLButtonElement>(root, "job-ask");
  const problem = requireElement(root, "job-problem");
  let work: JobWork | null = null;
  let shown: number | null = null;

  const listener = {
    line(text: string): void {
      setText(requireElement(root, "job-line"), text);
      log(root, text);
    },
    done(): void {
      work = null;
      paint();
    },
    refused(why: string): void {
      work = null;
      setText(problem, why);
      paint();
    },
  };

  function paint(): void {
    const draft = frame.draft();
    const job = draft.jobs[kind];
    const live = isLive(job) || work !== null;
    // Jobs that no launch waits for, such as the inspection of a sample, are in no checklist.
    const state = draft.checklist.find(({ key }) => key === kind)?.state ?? job?.state;
    // The server starts it automatically, one job after the other.
    const soon = job === undefined && draft.onward && Object.values(draft.jobs).some(isLive);
    root.hidden = job === undefined && !ready(draft);
    requireElement(root, "job-progress").hidden = !live;
    requireElement(root, "job-cancel").hidden = !live;
    requestButton.hidden = live || soon || !ready(draft) || state === "done";
    if (job !== undefined && job.asked !== shown) begun(job);
    if (job === undefined && work === null)
      setText(requireElement(root, "job-line"), soon ? say.soon : say.missing);
    if (live || job === undefined) return;
    setText(requireElement(root, "job-line"), state === "done" ? summary(job) : endOf(job));
    setText(problem, job.state === "failed" ? lastOf(job) : "");
  }

  /** Shows another job than before: its log from the beginning. */
  function begun(job: DraftJob): void {
    shown = job.asked;
    if (work !== null) return;
    requireElement(root, "job-log").replaceChildren();
    setText(problem, "");
    if (!isLive(job)) for (const { text } of job.log) log(root, text);
    else {
      setText(requireElement(root, "job-line"), job.log.at(-1)?.text ?? say.waits);
      work = frame.follow(kind, listener);
    }
  }

  requestButton.addEventListener("click", () => {
    setText(problem, "");
    setText(requireElement(root, "job-line"), say.waits);
    requireElement(root, "job-log").replaceChildren();
    work = frame.work(kind, listener);
    paint();
  });
  requireElement(root, "job-cancel").addEventListener("click", () => void work?.cancel());
  frame.onChange(paint);
  paint();
}

function endOf({ state }: DraftJob): string {
  if (state === "cancelled") return say.cancelled;
  return state === "failed" ? "" : say.outdated;
}

function lastOf(job: DraftJob): string {
  return job.log.at(-1)?.text ?? "";
}

function log(root: HTMLElement, text: string): void {
  const line = document.createElement("li");
  line.textContent = text;
  requireElement(root, "job-log").append(line);
}
