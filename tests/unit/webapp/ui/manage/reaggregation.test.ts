// @vitest-environment happy-dom
/** What the dashboard says of another rule for kept updates. */

import { beforeEach, describe, expect, test, vi } from "vitest";
import {
  bindReaggregation,
  type ReaggregationReport,
  roundTexts,
  stateText,
} from "../../../../../webapp/static/src/ui/manage/reaggregation";

const CLIENT = "a".repeat(16);
const ROUND = {
  round: 7,
  made: 6,
  real: { left_out: [], evaluation: { loss: 2.5, metrics: { accuracy: 0.25 } } },
  tried: { left_out: [CLIENT], evaluation: { loss: 0.5, metrics: { accuracy: 0.9 } } },
  distance: 1.25,
  relative: 0.5,
};
const REPORT: ReaggregationReport = {
  kept: { rounds: [1, 2], most_rounds: 5, bytes: 2_500_000, problem: "" },
  state: "done",
  reason: "",
  rule: "krum",
  attackers: 1,
  planned: 2,
  measured: true,
  rounds: [ROUND],
};

const PAGE = `<section data-reaggregation><span data-kept></span><p data-kept-problem></p>
  <form data-reaggregation-form><select name="rule"><option>krum</option></select><input name="attackers">
    <input type="checkbox" name="nnm"><button data-reaggregation-begin></button>
    <button type="button" data-reaggregation-cancel hidden></button><p data-reaggregation-problem></p></form>
  <p data-reaggregation-state></p><div data-reaggregation-result hidden><table>
    <tbody data-reaggregation-rows></tbody></table><span data-unmeasured hidden></span></div></section>`;

function element<E extends HTMLElement>(name: string): E {
  const found = document.querySelector<E>(`[data-${name}]`);
  if (!found) throw new Error(`no data-${name}`);
  return found;
}

/** Answers requests with these reports, one after another, the last one for ever. */
function answer(...reports: Partial<ReaggregationReport>[]) {
  const left = reports.map((one) => ({ ...REPORT, ...one }));
  const fetched = vi.fn(async (_address: string, _request: RequestInit) => {
    const report = left.length > 1 ? left.shift() : left[0];
    return new Response(JSON.stringify(report), { status: 200 });
  });
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

beforeEach(() => {
  document.body.innerHTML = PAGE;
});

describe("Another rule for kept updates", () => {
  test("a round stands beside what happened", () => {
    const texts = roundTexts(ROUND);
    expect(texts.slice(0, 7)).toEqual([
      "7",
      "6",
      "25.0\u202f%",
      "90.0\u202f%",
      "2.5",
      "0.5",
      "1.25 (50.0\u202f%)",
    ]);
    expect(texts[7]).toBe("–");
    expect(texts[8]).toContain(CLIENT);
  });

  test("what was not measured is a dash", () => {
    const unmeasured = { ...ROUND, tried: { left_out: [], evaluation: null }, relative: null };
    expect(roundTexts(unmeasured).slice(3)).toEqual(["–", "2.5", "–", "1.25", "–", "–"]);
  });

  test.each<[Partial<ReaggregationReport>, string]>([
    [{ state: "none" }, ""],
    [{ state: "waiting" }, "Waits until another task's updates are aggregated."],
    [{ state: "running" }, "krum: 1 of 2 rounds are done."],
    [{ state: "done", attackers: 2 }, "krum, made for 2 false updates in a round:"],
    [{ state: "failed", reason: "Round 7: NaN." }, "krum failed. Round 7: NaN."],
    [{ state: "cancelled" }, "Cancelled."],
  ])("the state %j is said", (changes, text) => {
    expect(stateText({ ...REPORT, ...changes })).toBe(text);
  });

  test("a page without the part asks for nothing", () => {
    document.body.innerHTML = "";
    const fetched = answer({});
    bindReaggregation(document.body, "digits")();
    expect(fetched).not.toHaveBeenCalled();
  });

  test("it is looked at again until the try has ended", async () => {
    answer({ state: "running", rounds: [] }, { state: "running", rounds: [] }, { state: "done" });
    bindReaggregation(document.body, "digits")();
    await vi.waitFor(() => expect(element("reaggregation-cancel").hidden).toBe(false));
    expect(element<HTMLButtonElement>("reaggregation-begin").disabled).toBe(true);
    await vi.waitFor(() => expect(element("reaggregation-state").textContent).toContain("made for"), 10_000);
    expect(element("kept").textContent).toBe("2 of at most 5 rounds are kept (2.5 MB).");
    expect(document.querySelectorAll("tbody tr")).toHaveLength(1);
    expect(element<HTMLButtonElement>("reaggregation-begin").disabled).toBe(false);
  });

  test("the chosen rule is sent, and a running one is cancelled", async () => {
    const fetched = answer({ state: "done" });
    bindReaggregation(document.body, "digits");
    const form = element<HTMLFormElement>("reaggregation-form");
    form.querySelector<HTMLInputElement>("[name=nnm]")?.click();
    form.dispatchEvent(new Event("submit", { cancelable: true }));
    await vi.waitFor(() => expect(fetched).toHaveBeenCalledOnce());
    const [address, request] = fetched.mock.calls[0] ?? [];
    expect([address, request?.method]).toEqual(["/api/tasks/digits/reaggregation", "POST"]);
    expect(JSON.parse(String(request?.body))).toEqual({ rule: "krum", attackers: null, before: ["nnm"] });
    element("reaggregation-cancel").click();
    await vi.waitFor(() =>
      expect(fetched.mock.calls.some(([, { method }]) => method === "DELETE")).toBe(true),
    );
  });
});
