// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  bindComparison,
  type ComparedTask,
  freePlace,
} from "../../../../../webapp/static/src/ui/manage/comparison";

const tick = (task: string) => document.querySelector(`input[value="${task}"]`) as HTMLInputElement;
const problem = () => document.querySelector("[data-compare-problem]")?.textContent;
const curves: Readonly<Record<string, readonly { loss: number | null }[]>> = {
  digits: [{ loss: 0.5 }],
  texts: [{ loss: 0.25 }],
  fresh: [{ loss: null }],
};
let shown: readonly ComparedTask[];

beforeEach(() => {
  document.body.innerHTML = `<div data-compare>${["digits", "texts", "fresh", "gone"]
    .map((task) => `<input type="checkbox" value="${task}">`)
    .join("")}<p data-compare-problem></p></div>`;
  vi.stubGlobal("fetch", async (address: string) => {
    const curve = curves[address.split("/")[3] ?? ""];
    return curve ? Response.json({ curve }) : Response.json({}, { status: 404 });
  });
  shown = [];
  bindComparison(document.body, (tasks) => {
    shown = tasks;
  });
});
afterEach(() => vi.unstubAllGlobals());

async function choose(task: string, checked = true): Promise<void> {
  tick(task).checked = checked;
  tick(task).dispatchEvent(new Event("change"));
  await new Promise((resolve) => setTimeout(resolve, 5));
}

test("chosen tasks are fetched, and keep their colour when others go", async () => {
  await choose("digits");
  await choose("texts");
  expect(shown.map(({ task, place }) => [task, place])).toEqual([
    ["digits", 0],
    ["texts", 1],
  ]);
  await choose("digits", false);
  expect(shown.map(({ task, place }) => [task, place])).toEqual([["texts", 1]]);
});

test("a task that cannot be shown is not chosen, and the page says why", async () => {
  await choose("gone");
  expect([tick("gone").checked, shown]).toEqual([false, []]);
  expect(problem()).toContain("gone");
  await choose("fresh");
  expect(tick("fresh").checked).toBe(false);
  expect(problem()).toContain("no measured versions");
});

test("there are four colours", () => {
  expect(freePlace([0, 2])).toBe(1);
  expect(freePlace([0, 1, 2, 3])).toBeNull();
});
