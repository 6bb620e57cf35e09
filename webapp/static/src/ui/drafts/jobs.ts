/** Jobs of the server on a draft: requested, followed line by line, cancelled. */

import { NoAnswer, Refusal, requestJson } from "../lib/api";
import { type DraftJob, isLive, type JobKind } from "./record";

/** The listener to a job: each line of its log, its end, and why it could not be started or cancelled. */
export interface JobListener {
  line(text: string): void;
  /** The draft has been refreshed before this. */
  done(job: DraftJob): void | Promise<void>;
  refused?(why: string): void;
  /** Whether the connection is lost; it is retried. */
  lost?(lost: boolean): void;
}

export interface JobWork {
  cancel(): Promise<void>;
}

const AGAIN_MS = 2000;

/** Starts a job once `before` is done, and follows it. */
export function begin(
  draft: string,
  kind: JobKind,
  listener: JobListener,
  before: () => Promise<void>,
): JobWork {
  void reportRefusal(listener, async () => {
    await before();
    await requestJson("POST", `${draft}/jobs`, { kind });
    await listen(draft, kind, listener, 0);
  });
  return work(draft, kind, listener);
}

/** Follows a job that was started before, skipping the first `after` lines of its log. */
export function follow(draft: string, kind: JobKind, listener: JobListener, after: number): JobWork {
  void reportRefusal(listener, () => listen(draft, kind, listener, after));
  return work(draft, kind, listener);
}

function work(draft: string, kind: JobKind, listener: JobListener): JobWork {
  return { cancel: () => reportRefusal(listener, () => requestJson("DELETE", `${draft}/jobs/${kind}`)) };
}

async function listen(draft: string, kind: JobKind, listener: JobListener, after: number): Promise<void> {
  let lines = after;
  let asked: number | null = null;
  while (true) {
    const job = await askPatiently(`${draft}/jobs/${kind}?after=${lines}`, listener);
    // Something that it depends on was changed, and it was started again.
    if (asked !== null && job.asked !== asked) lines = 0;
    asked = job.asked;
    for (const { text } of job.log.slice(lines)) listener.line(text);
    lines = Math.max(lines, job.log.length);
    if (!isLive(job)) return void (await listener.done(job));
  }
}

/** Fetches the job, and retries while the server is away. */
async function askPatiently(address: string, listener: JobListener): Promise<DraftJob> {
  while (true) {
    try {
      const job = (await requestJson("GET", address)) as DraftJob;
      listener.lost?.(false);
      return job;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      listener.lost?.(true);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

async function reportRefusal(listener: JobListener, what: () => Promise<unknown>): Promise<void> {
  try {
    await what();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    listener.refused?.(error.message);
  }
}
