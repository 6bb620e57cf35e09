// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from "vitest";
import type { IntegrityReport, VersionCheck } from "../../../../../../webapp/static/src/ui/manage/frames";
import {
  bindVersionChecks,
  checkRows,
  partTexts,
} from "../../../../../../webapp/static/src/ui/manage/versions/version-checks";

// happy-dom's table sections have no `rows`; Chromium fills them in tests/e2e/pages/manage/test_version_checks.py.
vi.mock("../../../../../../webapp/static/src/ui/manage/rows", () => ({ fillRows: () => undefined }));

const FAILED: VersionCheck = {
  version: 20,
  outcome: "failed",
  score: 0.9,
  parts: [
    { name: "trigger", score: 0.9, reason: "The smallest trigger is tiny." },
    { name: "drift", score: null, reason: "No other version." },
  ],
  accepted: null,
};
const PASSED: VersionCheck = { version: 10, outcome: "passed", score: 0.25, parts: [], accepted: null };
const REPORT: IntegrityReport = { offered: 10, waiting: [30], question: FAILED, checks: [PASSED, FAILED] };

let page: HTMLElement;

beforeEach(() => {
  document.body.innerHTML = `<section data-checks hidden><div data-check-question hidden>
    <h3 data-check-title></h3><ul data-check-parts></ul><p data-check-buttons><button data-check-back></button>
    <button data-check-accept></button></p><p data-check-problem></p></div><p data-check-offered></p>
    <table><tbody data-check-rows></tbody></table></section>`;
  page = document.body;
});

function shown(mayLead = true): (report: IntegrityReport | null) => void {
  return bindVersionChecks(page, "digits", mayLead);
}

const text = (name: string) => page.querySelector(`[data-${name}]`)?.textContent;
const isHidden = (name: string) => page.querySelector<HTMLElement>(`[data-${name}]`)?.hidden;

test("rows have what waits and what was checked, the newest first", () => {
  expect(checkRows(REPORT)).toEqual([
    ["30", "waits for its check", "–"],
    ["20", "signs of a backdoor", "0.9"],
    ["10", "no sign of a backdoor", "0.25"],
  ]);
  const accepted = { ...REPORT, waiting: [], checks: [{ ...FAILED, accepted: 5 }] };
  expect(checkRows(accepted)).toEqual([["20", "accepted by you or another owner", "0.9"]]);
});

test("each part of the score has its reason", () => {
  expect(partTexts(FAILED)).toEqual([
    "Smallest trigger, 0.9: The smallest trigger is tiny.",
    "Change of a class, not measured: No other version.",
  ]);
});

test("a version that failed is a question with two answers", () => {
  shown()(REPORT);
  expect(isHidden("checks")).toBe(false);
  expect(text("check-title")).toBe("Version 20 shows signs of a backdoor");
  expect([text("check-back"), text("check-accept")]).toEqual(["Go back to version 10", "Accept version 20"]);
  expect(page.querySelectorAll("[data-check-parts] li")).toHaveLength(2);
});

test("the buttons go back to the offered version and accept the other one", async () => {
  const sent: [string, unknown][] = [];
  vi.stubGlobal("fetch", (path: string, asked: RequestInit) => {
    sent.push([path, JSON.parse(String(asked.body))]);
    return Promise.resolve(Response.json({}));
  });
  shown()(REPORT);
  page.querySelector<HTMLButtonElement>("[data-check-back]")?.click();
  page.querySelector<HTMLButtonElement>("[data-check-accept]")?.click();
  await vi.waitFor(() => expect(sent).toHaveLength(2));
  expect(sent).toEqual([
    ["/api/tasks/digits/restore", { version: 10 }],
    ["/api/tasks/digits/accept", { version: 20 }],
  ]);
  vi.unstubAllGlobals();
});

test("without a question only the offered version is shown, and nothing where versions are not checked", () => {
  const show = shown(false);
  show({ ...REPORT, question: null, offered: 0 });
  expect(isHidden("check-question")).toBe(true);
  expect(isHidden("check-buttons")).toBe(true);
  expect(text("check-offered")).toContain("Version 0, your own model, is offered");
  show(null);
  expect(isHidden("checks")).toBe(true);
});
