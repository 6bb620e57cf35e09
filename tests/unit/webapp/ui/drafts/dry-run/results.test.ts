import { expect, test } from "vitest";
import {
  type BrowserDryRun,
  type DryRunReport,
  ownResults,
  reportOf,
} from "../../../../../../webapp/static/src/ui/drafts/dry-run/results";

const OF = "a".repeat(32);

test("what a worker answers is told in the server's words", () => {
  const stepped = { type: "stepped" as const, loss: 2.5, gradientError: 1e-7, stepMs: 3 };
  expect(reportOf("wasm", OF, stepped)).toEqual({
    outcome: "stepped",
    of: OF,
    backend: "wasm",
    loss: 2.5,
    gradient_error: 1e-7,
    step_ms: 3,
  });
  expect(reportOf("webgl", OF, { type: "absent" })).toEqual({ outcome: "absent", of: OF, backend: "webgl" });
  const read = { type: "read" as const, examples: 64, problem: null };
  expect(reportOf("data", OF, read)).toEqual({ outcome: "data", of: OF, examples: 64, problem: null });
});

test("a failure is a sentence that the server takes, whatever was said", () => {
  const failed = (message: string) => reportOf("cpu", OF, { type: "failed", problem: message });
  expect(failed("")).toMatchObject({ reason: "It failed and did not say why." });
  expect(failed("x".repeat(1000))).toMatchObject({ reason: "x".repeat(400) });
  expect(reportOf("cpu", OF, "late")).toMatchObject({
    outcome: "failed",
    reason: expect.stringContaining("three minutes"),
  });
  expect(reportOf("data", OF, { type: "failed", problem: "A class is 12." })).toEqual({
    outcome: "data",
    of: OF,
    examples: 0,
    problem: "A class is 12.",
  });
});

test("what was left out is not told", () => {
  expect(reportOf("cpu", OF, "left")).toBeNull();
});

test("only what this browser found of what holds now spares another try", () => {
  const one: BrowserDryRun = {
    at: 1,
    agent: "Chrome on Linux",
    what: "wasm",
    verdict: "agrees",
    text: "",
    step_ms: 1,
    outdated: false,
  };
  const tried: BrowserDryRun[] = [
    one,
    { ...one, what: "webgl", outdated: true },
    { ...one, what: "cpu", agent: "Firefox on Linux" },
  ];
  const told: DryRunReport = {
    trial: null,
    agent: "Chrome on Linux",
    tried,
    takers: [],
    browsers: [],
    payload: null,
  };
  expect([...ownResults(told).keys()]).toEqual(["wasm"]);
});
