/** The wizard's step `trial`: the server's step first, then the same one with every backend of this browser. */

import { rehearse } from "../../../client/workers/dry-run-worker";
import { say } from "../../../i18n/owners/dry-run";
import { ask, Refusal, trying } from "../../lib/api";
import { part, write } from "../../lib/dom";
import { showOthers, showTakers } from "../dry-run/result-tables";
import {
  ownResults,
  reportOf,
  stepOf,
  type Told,
  TRYABLE,
  type Trial,
  type Tryable,
} from "../dry-run/results";
import type { Frame } from "../frame";
import { isLive, type Job, type JobKind, type Table } from "../record";

const PATIENCE_MS = 180_000;
const LOOK_MS = 3000;
/** In the order in which they need each other. */
const BEFORE: readonly JobKind[] = ["convert", "look", "cut", "rehearse"];

type State = "done" | "todo" | "running" | "failed" | "free";

function check(name: string, state: State, text: string): void {
  const line = part(document, `check="${name}"`);
  line.dataset.state = state;
  write(part(line, "text"), text);
}

export function mount(frame: Frame): void {
  const again = part<HTMLButtonElement>(document, "again");
  const againHere = part<HTMLButtonElement>(document, "again-here");
  const skip = part<HTMLButtonElement>(document, "skip");
  const problem = part(document, "trial-problem");
  let leave = new AbortController();

  const told = async (): Promise<Told> => (await ask("GET", `${frame.address}/trial`)) as Told;
  const shown = (answer: Told): Told => {
    showBrowser(answer);
    showTakers(answer);
    showOthers(answer);
    return answer;
  };

  /** Takes the step with what was not tried yet; with everything where `anew`. */
  async function tryAll(trial: Trial, anew: boolean): Promise<void> {
    write(part(document, "trial-now"), say.begins);
    const known = ownResults(shown(await told()));
    const due = TRYABLE.filter((what) => anew || !known.has(what));
    for (const [number, what] of due.entries()) {
      write(part(document, "trial-now"), say.now(say.what(what), due.length - number - 1));
      await tryOne(trial, what);
    }
    const results = [...ownResults(shown(await told())).values()].filter(({ what }) => what !== "data");
    const count = (verdict: string) => results.filter((one) => one.verdict === verdict).length;
    write(part(document, "trial-now"), say.over(count("agrees"), count("differs")));
  }

  async function tryOne(trial: Trial, what: Tryable): Promise<void> {
    leave = new AbortController();
    check(what, "running", what === "data" ? say.reading : say.running);
    skip.hidden = false;
    const step = stepOf(`${location.origin}${frame.address}`, trial);
    const message = what === "data" ? { type: what, step } : { type: "step" as const, step, backend: what };
    const answer = await rehearse(message, PATIENCE_MS, leave.signal);
    skip.hidden = true;
    const report = reportOf(what, trial.of, answer);
    if (report === null) check(what, "free", say.left);
    else shown((await ask("POST", `${frame.address}/tried`, report)) as Told);
    await frame.refresh();
  }

  /** One try at a time: nothing can be asked for again before it is over. */
  async function inBrowser(trial: Trial, anew: boolean): Promise<void> {
    again.onclick = () => void inBrowser(trial, true);
    again.hidden = againHere.hidden = true;
    await trying(problem, () => tryAll(trial, anew)).finally(() => {
      again.hidden = againHere.hidden = false;
    });
  }

  /** Follows what is under way, has the step taken where it was not, then goes on in the browser. */
  async function onServer(anew: boolean): Promise<void> {
    againHere.hidden = true;
    const { jobs } = frame.draft();
    const live = BEFORE.find((kind) => isLive(jobs[kind]));
    const { trial } = shown(await told());
    if (trial !== null && !anew && live === undefined) {
      showServer(frame.draft().jobs.rehearse?.result ?? {});
      return inBrowser(trial, false);
    }
    const failed = frame.draft().checklist.find(({ key, state }) => key === "rehearse" && state === "failed");
    if (failed && !anew && live === undefined) return refused(failed.text, "failed");
    const { state, log } = await follow(live);
    if (state === "done") return onServer(false);
    refused(log.at(-1)?.text ?? "", state === "failed" ? "failed" : "todo");
  }

  /** Ends with the job; `kind` is one that is under way, else the step is asked for. */
  function follow(kind: JobKind | undefined): Promise<Job> {
    return new Promise((resolve, reject) => {
      const heard = {
        line: (text: string) => check("native", "running", text),
        done: resolve,
        refused: (why: string) => reject(new Refusal(why)),
      };
      if (kind === undefined) frame.work("rehearse", heard);
      else frame.follow(kind, heard);
    });
  }

  function refused(why: string, state: State): void {
    check("native", state, why);
    againHere.hidden = false;
  }

  const begin = (anew: boolean): void => {
    onServer(anew).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
      refused(error.message, "todo");
      if (frame.draft().onward) watch();
    });
  };
  /** The server goes on by itself as soon as what it needs is there. */
  function watch(): void {
    setTimeout(async () => {
      await frame.refresh().catch(() => undefined);
      const { jobs, checklist } = frame.draft();
      const done = checklist.some(({ key, state }) => key === "rehearse" && state === "done");
      if (done || BEFORE.some((kind) => isLive(jobs[kind]))) begin(false);
      else watch();
    }, LOOK_MS);
  }
  skip.addEventListener("click", () => leave.abort());
  againHere.addEventListener("click", () => begin(true));
  begin(false);
}

function showServer(result: Table): void {
  const { difference, loss, loss_after, gradient_norm, step_ms, real } = result;
  check("keras", "done", say.keras(Number(difference)));
  const figures = [loss, loss_after, gradient_norm, step_ms].map(Number) as [number, number, number, number];
  check("native", "done", say.native(real === true, ...figures));
}

function showBrowser(told: Told): void {
  const known = ownResults(told);
  for (const what of TRYABLE) {
    const found = known.get(what);
    if (found === undefined) check(what, "todo", told.trial === null ? say.waiting : say.waitingHere);
    else if (found.verdict === "absent") check(what, "free", say.absent);
    else {
      const own = what === "data" && told.trial?.shard === null;
      const text = own ? say.onTheirDevice : found.text;
      const timed = found.step_ms === null ? text : say.timed(text, found.step_ms);
      check(what, found.verdict === "agrees" ? "done" : "failed", timed);
    }
  }
}
