/** The wizard's step `trial`: the server's step first, then the same one with every backend of this browser. */

import { runDryRun } from "../../../client/workers/dry-run-worker";
import { say } from "../../../i18n/owners/dry-run";
import { Refusal, requestJson, showRefusal } from "../../lib/api";
import { requireElement, setText } from "../../lib/dom";
import { showDeviceSupport, showOtherBrowsers } from "../dry-run/result-tables";
import {
  type DryRunnable,
  type DryRunReport,
  ownResults,
  reportOf,
  type ServerDryRun,
  stepOf,
  TRYABLE,
} from "../dry-run/results";
import type { DraftFrame } from "../frame";
import { type DraftJob, type DraftTable, isLive, type JobKind } from "../record";

const PATIENCE_MS = 180_000;
const LOOK_MS = 3000;
/** In the order in which they need each other. */
const BEFORE: readonly JobKind[] = ["convert", "look", "cut", "rehearse"];

type DryRunState = "done" | "todo" | "running" | "failed" | "free";

function check(name: string, state: DryRunState, text: string): void {
  const line = requireElement(document, `check="${name}"`);
  line.dataset.state = state;
  setText(requireElement(line, "text"), text);
}

export function mount(frame: DraftFrame): void {
  const again = requireElement<HTMLButtonElement>(document, "again");
  const againHere = requireElement<HTMLButtonElement>(document, "again-here");
  const skip = requireElement<HTMLButtonElement>(document, "skip");
  const problem = requireElement(document, "trial-problem");
  let leave = new AbortController();

  const fetchReport = async (): Promise<DryRunReport> =>
    (await requestJson("GET", `${frame.address}/trial`)) as DryRunReport;
  const shown = (answer: DryRunReport): DryRunReport => {
    showBrowser(answer);
    showDeviceSupport(answer);
    showOtherBrowsers(answer);
    return answer;
  };

  /** Takes the step with what was not tried yet; with everything where `anew`. */
  async function tryAll(trial: ServerDryRun, anew: boolean): Promise<void> {
    setText(requireElement(document, "trial-now"), say.begins);
    const earlier = ownResults(shown(await fetchReport()));
    const due = TRYABLE.filter((what) => anew || !earlier.has(what));
    for (const [number, what] of due.entries()) {
      setText(requireElement(document, "trial-now"), say.now(say.what(what), due.length - number - 1));
      await tryOne(trial, what);
    }
    const results = [...ownResults(shown(await fetchReport())).values()].filter(
      ({ what }) => what !== "data",
    );
    const count = (verdict: string) => results.filter((one) => one.verdict === verdict).length;
    setText(requireElement(document, "trial-now"), say.over(count("agrees"), count("differs")));
  }

  async function tryOne(trial: ServerDryRun, what: DryRunnable): Promise<void> {
    leave = new AbortController();
    check(what, "running", what === "data" ? say.reading : say.running);
    skip.hidden = false;
    const step = stepOf(`${location.origin}${frame.address}`, trial);
    const message = what === "data" ? { type: what, step } : { type: "step" as const, step, backend: what };
    const answer = await runDryRun(message, PATIENCE_MS, leave.signal);
    skip.hidden = true;
    const report = reportOf(what, trial.of, answer);
    if (report === null) check(what, "free", say.left);
    else shown((await requestJson("POST", `${frame.address}/tried`, report)) as DryRunReport);
    await frame.refresh();
  }

  /** One try at a time: nothing can be asked for again before it is over. */
  async function inBrowser(trial: ServerDryRun, anew: boolean): Promise<void> {
    again.onclick = () => void inBrowser(trial, true);
    again.hidden = againHere.hidden = true;
    await showRefusal(problem, () => tryAll(trial, anew)).finally(() => {
      again.hidden = againHere.hidden = false;
    });
  }

  /** Follows what is under way, has the step taken where it was not, then goes on in the browser. */
  async function onServer(anew: boolean): Promise<void> {
    againHere.hidden = true;
    const { jobs } = frame.draft();
    const live = BEFORE.find((kind) => isLive(jobs[kind]));
    const { trial } = shown(await fetchReport());
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
  function follow(kind: JobKind | undefined): Promise<DraftJob> {
    return new Promise((resolve, reject) => {
      const listener = {
        line: (text: string) => check("native", "running", text),
        done: resolve,
        refused: (why: string) => reject(new Refusal(why)),
      };
      if (kind === undefined) frame.work("rehearse", listener);
      else frame.follow(kind, listener);
    });
  }

  function refused(why: string, state: DryRunState): void {
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

function showServer(result: DraftTable): void {
  const { difference, loss, loss_after, gradient_norm, step_ms, real } = result;
  check("keras", "done", say.keras(Number(difference)));
  const figures = [loss, loss_after, gradient_norm, step_ms].map(Number) as [number, number, number, number];
  check("native", "done", say.native(real === true, ...figures));
}

function showBrowser(report: DryRunReport): void {
  const results = ownResults(report);
  for (const what of TRYABLE) {
    const result = results.get(what);
    if (result === undefined) check(what, "todo", report.trial === null ? say.waiting : say.waitingHere);
    else if (result.verdict === "absent") check(what, "free", say.absent);
    else {
      const own = what === "data" && report.trial?.shard === null;
      const text = own ? say.onTheirDevice : result.text;
      const timed = result.step_ms === null ? text : say.timed(text, result.step_ms);
      check(what, result.verdict === "agrees" ? "done" : "failed", timed);
    }
  }
}
