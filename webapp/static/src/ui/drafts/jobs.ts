/** Work of the server on a draft: asked for, followed line by line, cancelled. */

import { ask, Refusal, Silence } from "../lib/api";
import { isLive, type Job, type JobKind } from "./record";

/** Who hears of a job: each line of its log, its end, and why it could not be begun or cancelled. */
export interface Heard {
  line(text: string): void;
  /** The draft was asked for anew before this. */
  done(job: Job): void | Promise<void>;
  refused?(why: string): void;
  /** Whether the connection is lost; it is tried again. */
  lost?(lost: boolean): void;
}

export interface Work {
  cancel(): Promise<void>;
}

const AGAIN_MS = 2000;

/** Has a job begun, once `before` is done, and follows it. */
export function begin(draft: string, kind: JobKind, heard: Heard, before: () => Promise<void>): Work {
  void hearing(heard, async () => {
    await before();
    await ask("POST", `${draft}/jobs`, { kind });
    await listen(draft, kind, heard, 0);
  });
  return work(draft, kind, heard);
}

/** Follows a job that was begun before, from the line that follows the first `after`. */
export function follow(draft: string, kind: JobKind, heard: Heard, after: number): Work {
  void hearing(heard, () => listen(draft, kind, heard, after));
  return work(draft, kind, heard);
}

function work(draft: string, kind: JobKind, heard: Heard): Work {
  return { cancel: () => hearing(heard, () => ask("DELETE", `${draft}/jobs/${kind}`)) };
}

async function listen(draft: string, kind: JobKind, heard: Heard, after: number): Promise<void> {
  let known = after;
  let asked: number | null = null;
  while (true) {
    const job = await askPatiently(`${draft}/jobs/${kind}?after=${known}`, heard);
    // Something it depends on was changed, and it was begun anew.
    if (asked !== null && job.asked !== asked) known = 0;
    asked = job.asked;
    for (const { text } of job.log.slice(known)) heard.line(text);
    known = Math.max(known, job.log.length);
    if (!isLive(job)) return void (await heard.done(job));
  }
}

/** A server that is away comes back, and its work with it. */
async function askPatiently(address: string, heard: Heard): Promise<Job> {
  while (true) {
    try {
      const job = (await ask("GET", address)) as Job;
      heard.lost?.(false);
      return job;
    } catch (error) {
      if (!(error instanceof Silence)) throw error;
      heard.lost?.(true);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

async function hearing(heard: Heard, what: () => Promise<unknown>): Promise<void> {
  try {
    await what();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    heard.refused?.(error.message);
  }
}
