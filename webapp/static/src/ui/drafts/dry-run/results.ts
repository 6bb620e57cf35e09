/** The answer of `/api/drafts/{id}/trial`, and the report of a browser's dry run (docs/reference/drafts.md). */

import type { DryRunEnd } from "../../../client/workers/dry-run-worker";
import type { Backend } from "../../../core/backend";
import type { DryRunStep, FromDryRunWorker } from "../../../core/messages/dry-run";
import { say } from "../../../i18n/texts/owners/dry-run";
import { message } from "../../../i18n/texts/volunteers/messages/message";

/** The subject of a line of the checks. */
export type DryRunnable = "data" | Backend;

export interface ServerDryRun {
  readonly of: string;
  readonly bundle: string;
  readonly weights: string;
  readonly step: string;
  readonly shard: string | null;
  readonly loss: number;
  readonly gradient_norm: number;
  readonly step_ms: number;
}

export interface BrowserDryRun {
  readonly at: number;
  readonly agent: string;
  readonly what: DryRunnable | "none";
  readonly verdict: "agrees" | "differs" | "failed" | "absent";
  readonly text: string;
  readonly step_ms: number | null;
  readonly outdated: boolean;
}

export interface DryRunReport {
  /** Null before the server took the step. */
  readonly trial: ServerDryRun | null;
  /** This browser, in words. */
  readonly agent: string;
  readonly tried: readonly BrowserDryRun[];
  readonly takers: readonly { readonly device: string; readonly can: boolean; readonly text: string }[];
  readonly browsers: readonly string[];
  readonly payload: string | null;
}

/** The order of the browser's runs: WebAssembly is widely supported and fast, plain JavaScript is the last resort. */
export const TRYABLE: readonly DryRunnable[] = ["data", "wasm", "webgl", "webgpu", "cpu"];
/** The longest text that the server accepts. */
const MOST = 400;

export function stepOf(base: string, { bundle, weights, step, shard }: ServerDryRun): DryRunStep {
  return { base, bundle, weights, step, shard };
}

/** Returns this browser's results of the current dry run, by subject. */
export function ownResults({ tried, agent }: DryRunReport): ReadonlyMap<string, BrowserDryRun> {
  const own = tried.filter((one) => one.agent === agent && !one.outdated);
  return new Map(own.map((one) => [one.what, one]));
}

/** Returns the body of `POST tried`; null if the person skipped it, so that there is nothing to report. */
export function reportOf(what: DryRunnable, of: string, answer: FromDryRunWorker | DryRunEnd): object | null {
  if (answer === "left") return null;
  const failed = (sentence: string): object => {
    const text = sentence.slice(0, MOST) || say.silent;
    if (what === "data") return { outcome: "data", of, examples: 0, problem: text };
    return { outcome: "failed", of, backend: what, reason: text };
  };
  if (answer === "late") return failed(say.late);
  switch (answer.type) {
    case "stepped":
      return {
        outcome: "stepped",
        of,
        backend: what,
        loss: answer.loss,
        gradient_error: answer.gradientError,
        step_ms: answer.stepMs,
      };
    case "absent":
      return { outcome: "absent", of, backend: what };
    case "read":
      return {
        outcome: "data",
        of,
        examples: answer.examples,
        problem: answer.problem === null ? null : message(answer.problem),
      };
    case "failed":
      return failed(message(answer.problem));
  }
}
