// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runDryRun } from "../../../../../webapp/static/src/client/workers/dry-run-worker";
import type {
  DryRunStep,
  FromDryRunWorker,
  ToDryRunWorker,
} from "../../../../../webapp/static/src/core/messages/dry-run";

const STEP: DryRunStep = {
  base: "https://here/api/drafts/0",
  bundle: "a",
  weights: "b",
  step: "c",
  shard: null,
};
const ASKED: ToDryRunWorker = { type: "step", step: STEP, backend: "wasm" };

/** A worker that hears, and answers only what it is told to. */
class Hearer {
  onmessage: (event: { data: FromDryRunWorker }) => void = () => undefined;
  onerror: (event: { message: string }) => void = () => undefined;
  readonly heard: ToDryRunWorker[] = [];
  ended = false;

  postMessage(message: ToDryRunWorker): void {
    this.heard.push(message);
  }

  terminate(): void {
    this.ended = true;
  }
}

let worker: Hearer;
const spawn = () => worker as unknown as Worker;

beforeEach(() => {
  vi.useFakeTimers();
  worker = new Hearer();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a worker is ended with its answer", async () => {
  const answered = runDryRun(ASKED, 1000, new AbortController().signal, spawn);
  expect(worker.heard).toEqual([ASKED]);
  worker.onmessage({ data: { type: "absent" } });
  expect(await answered).toEqual({ type: "absent" });
  expect(worker.ended).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test("a worker that hangs is ended after its time", async () => {
  const answered = runDryRun(ASKED, 1000, new AbortController().signal, spawn);
  vi.advanceTimersByTime(999);
  expect(worker.ended).toBe(false);
  vi.advanceTimersByTime(1);
  expect(await answered).toBe("late");
  expect(worker.ended).toBe(true);
});

test("who leaves a backend out does not wait for it", async () => {
  const leave = new AbortController();
  const answered = runDryRun(ASKED, 1000, leave.signal, spawn);
  leave.abort();
  expect(await answered).toBe("left");
  expect(worker.ended).toBe(true);
});

test("a worker that breaks says why", async () => {
  const answered = runDryRun(ASKED, 1000, new AbortController().signal, spawn);
  worker.onerror({ message: "" });
  vi.advanceTimersByTime(500);
  expect(await answered).toEqual({
    type: "failed",
    problem: "The worker could not be started; reload the page.",
  });
});

test("a worker that fails because the page is left has not failed", async () => {
  const answered = runDryRun(ASKED, 1000, new AbortController().signal, spawn);
  worker.onmessage({ data: { type: "failed", problem: "A module cannot be loaded." } });
  dispatchEvent(new Event("pagehide"));
  expect(await answered).toBe("left");
  expect(vi.getTimerCount()).toBe(0);
});
