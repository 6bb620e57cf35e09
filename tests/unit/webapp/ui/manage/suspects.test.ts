// @vitest-environment happy-dom
/** What the dashboard says of suspects, and of what the settings bear. */

import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Suspect } from "../../../../../webapp/static/src/ui/manage/frames";
import {
  suspectTable,
  suspectTexts,
  toleranceWords,
} from "../../../../../webapp/static/src/ui/manage/suspects";

const LIAR: Suspect = {
  client: "a".repeat(16),
  share: 1,
  quarantined: true,
  left: 3,
  counts: false,
  reasons: ["direction", "distance"],
  timeline: [
    { round: 4, share: 0.8, evidence: { direction: 1 }, counted: true },
    { round: 5, share: 1.6, evidence: {}, counted: false },
  ],
};
const TOLERANCE = { updates: 10, groups: 0, rule: "median", attackers: 2, repeated: 3 };

beforeEach(() => {
  document.body.innerHTML = `<p data-problem></p><section data-suspects hidden><p data-tolerance></p>
    <div data-suspect-part hidden><table><tbody data-suspect-rows></tbody></table></div></section>`;
});

function shownTable(mayLead = true) {
  const problem = document.querySelector<HTMLElement>("[data-problem]");
  if (!problem) throw new Error("no problem element");
  return suspectTable(document.body, "digits", mayLead, problem);
}

const rows = () => [...document.querySelectorAll("tbody tr")];

describe("Suspects", () => {
  test.each<[Partial<Suspect>, string]>([
    [{}, "in quarantine for 3 more rounds at least"],
    [{ left: 0 }, "in quarantine until suspicion is low"],
    [{ quarantined: false, left: 1 }, "wait for 1 good round: its household is suspect"],
    [{ quarantined: false, counts: true, share: 0.4 }, "count, and weigh less"],
    [{ quarantined: false, counts: true, share: 0 }, "count"],
  ])("have a state in words", (change, words) => {
    expect(suspectTexts({ ...LIAR, ...change }, true)[1]).toBe(words);
  });

  test("have reasons in words, also those of a newer server", () => {
    expect(suspectTexts(LIAR, true)[3]).toBe("against most others, far from the others");
    expect(suspectTexts({ ...LIAR, reasons: ["other"] }, true)[3]).toBe("other");
    expect(suspectTexts({ ...LIAR, reasons: [] }, true)[3]).toBe("–");
  });

  test("weigh less only where no rule counts each update once", () => {
    expect(suspectTexts({ ...LIAR, quarantined: false, counts: true, share: 0.4 }, false)[1]).toBe("count");
  });

  test("what the settings bear is told by the numbers", () => {
    expect(toleranceWords(TOLERANCE, true)).toBe(
      "In one round the settings bear 2 of 10 false updates (median). Over rounds they find up to 3 of 10 participants that lie again and again.",
    );
    expect(toleranceWords({ ...TOLERANCE, updates: 40, groups: 5 }, false)).toContain(
      "bear 2 of 40 participants that lie, whatever groups they are in: the sums of 2 of the 5 masked groups",
    );
    expect(toleranceWords({ ...TOLERANCE, rule: "", attackers: 0 }, false)).toContain("bear 0 of 10");
    expect(toleranceWords({ ...TOLERANCE, updates: 3, repeated: 0 }, true)).toContain("needs 5 updates");
  });

  test("a row has a bar for each round, and a button for who may lift", async () => {
    const asked = vi.fn(async () => new Response('{"banned":[]}', { status: 200 }));
    vi.stubGlobal("fetch", asked);
    const show = shownTable();
    show({ tolerance: TOLERANCE, suspects: [LIAR] });
    const [row] = rows();
    const pieces = [...(row?.querySelectorAll<HTMLElement>("[data-series]") ?? [])];
    expect(pieces.map((piece) => [piece.dataset.series, piece.style.height])).toEqual([
      ["1", "50%"],
      ["4", "100%"],
    ]);
    row?.querySelector("button")?.click();
    await vi.waitFor(() => expect(asked).toHaveBeenCalledOnce());
    const [address, request] = asked.mock.calls[0] as unknown as [string, RequestInit];
    expect(address).toBe(`/api/tasks/digits/participants/${LIAR.client}`);
    expect(request.body).toBe('{"act":"lift"}');
    vi.unstubAllGlobals();
  });

  test("rows are kept while nothing changes, and others have no button", () => {
    const show = shownTable(false);
    show({ tolerance: TOLERANCE, suspects: [LIAR] });
    const [before] = rows();
    show({ tolerance: TOLERANCE, suspects: [{ ...LIAR }] });
    expect(rows()[0]).toBe(before);
    expect(document.querySelector("button")).toBeNull();
    show({ tolerance: TOLERANCE, suspects: [] });
    expect(rows()).toEqual([]);
  });

  test("a task without rule and reputation has no part, one without reputation no table", () => {
    const show = shownTable();
    const hidden = (name: string) => document.querySelector<HTMLElement>(`[data-${name}]`)?.hidden;
    show({ tolerance: null, suspects: null });
    expect(hidden("suspects")).toBe(true);
    show({ tolerance: TOLERANCE, suspects: null });
    expect([hidden("suspects"), hidden("suspect-part")]).toEqual([false, true]);
  });

  test("a page of another scheme has no part for them", () => {
    document.body.innerHTML = "<p data-problem></p>";
    shownTable()({ tolerance: TOLERANCE, suspects: [LIAR] });
    expect(document.body.textContent).toBe("");
  });
});
