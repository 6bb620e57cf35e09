/** The wizard's step `trial`: the server's step first, then the same step with every backend of this browser. */

import { runDryRun } from "../../../client/workers/dry-run-worker";
import { say } from "../../../i18n/texts/owners/dry-run";
import { Refusal, requestJson, showRefusal } from "../../lib/api";
import { requireElement, setText } from "../../lib/dom";
import { bindCancelButton } from "../cancel-button";
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
/** The jobs before it, in the order of their dependencies. */
const BEFORE: readonly JobKind[] = ["build", "convert", "look", "cut", "rehearse"];

type DryRunState = "done" | "todo" | "running" | "failed" | "free";

function check(name: string, state: DryRunState, text: string): void {
  const line = requireElement(document, `check="${name}"`);
  line.dataset.state = state;
  setText(requireElement(line, "text"), text);
}

export function mount(frame: DraftFrame): void {
  const repeatButton = requireElement<HTMLButtonElement>(document, "again");
  const repeatServerButton = requireElement<HTMLButtonElement>(document, "again-here");
  const showCancel = bindCancelButton(requireElement(document, "cancel-here"));
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

  /** Runs the step with what was not tried yet; with everything if `isRepeat`. */
  async function tryAll(trial: ServerDryRun, isRepeat: boolean): Promise<void> {
    setText(requireElement(document, "trial-now"), say.begins);
    const earlier = ownResults(shown(await fetchReport()));
    const due = TRYABLE.filter((what) => isRepeat || !earlier.has(what));
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

  /** Runs in the browser. The buttons are hidden, so that only one run is in progress. */
  async function inBrowser(trial: ServerDryRun, isRepeat: boolean): Promise<void> {
    repeatButton.onclick = () => void inBrowser(trial, true);
    repeatButton.hidden = repeatServerButton.hidden = true;
    await showRefusal(problem, () => tryAll(trial, isRepeat)).finally(() => {
      repeatButton.hidden = repeatServerButton.hidden = false;
    });
  }

  /** Follows a running job, requests the step if needed, then continues in the browser. */
  async function onServer(isRepeat: boolean): Promise<void> {
    repeatServerButton.hidden = true;
    const { jobs } = frame.draft();
    const live = BEFORE.find((kind) => isLive(jobs[kind]));
    const { trial } = shown(await fetchReport());
    if (trial !== null && !isRepeat && live === undefined) {
      showServer(frame.draft().jobs.rehearse?.result ?? {});
      return inBrowser(trial, false);
    }
    const failed = frame.draft().checklist.find(({ key, state }) => key === "rehearse" && state === "failed");
    if (failed && !isRepeat && live === undefined) return refused(failed.text, "failed");
    const { state, log } = await follow(live);
    if (state === "done") return onServer(false);
    refused(log.at(-1)?.text ?? "", state === "failed" ? "failed" : "todo");
  }

  /** Resolves with the finished job; `kind` is a running one, else the step is requested. */
  function follow(kind: JobKind | undefined): Promise<DraftJob> {
    return new Promise<DraftJob>((resolve, reject) => {
      const listener = {
        line: (text: string) => check("native", "running", text),
        done: resolve,
        refused: (why: string) => reject(new Refusal(why)),
      };
      showCancel(kind === undefined ? frame.work("rehearse", listener) : frame.follow(kind, listener));
    }).finally(() => showCancel(null));
  }

  function refused(why: string, state: DryRunState): void {
    check("native", state, why);
    repeatServerButton.hidden = false;
  }

  const begin = (isRepeat: boolean): void => {
    onServer(isRepeat).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
      refused(error.message, "todo");
      if (frame.draft().onward) watch();
    });
  };
  /** Waits until the server starts the job, which it does once the requirements are met. */
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
  repeatServerButton.addEventListener("click", () => begin(true));
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
