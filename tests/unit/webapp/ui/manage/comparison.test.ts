// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  bindComparison,
  type ComparedTask,
  comparedLosses,
  freePlace,
} from "../../../../../webapp/static/src/ui/manage/comparison";

const tick = (task: string) => document.querySelector(`input[value="${task}"]`) as HTMLInputElement;
const problem = () => document.querySelector("[data-compare-problem]")?.textContent;
const curves: Readonly<Record<string, readonly object[]>> = {
  digits: [{ loss: 0.5 }],
  texts: [{ loss: 0.25 }],
  fresh: [{ loss: null, training_loss: null }],
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

test("a task without held-out examples is compared by its training loss", async () => {
  const point = { created: 0, kept: true, left: false, metrics: {}, restores: null, round: 0 };
  const trained = { ...point, version: 1, loss: null, training_loss: 0.75 };
  expect(comparedLosses([trained])).toEqual({ isHeldOut: false, points: [[1], [0.75]] });
  const measured = { ...trained, version: 2, loss: 0.5 };
  expect(comparedLosses([trained, measured])).toEqual({
    isHeldOut: true,
    points: [
      [1, 2],
      [null, 0.5],
    ],
  });
  expect(comparedLosses([{ ...measured, left: true }])).toBeNull();
});

test("there are four colours", () => {
  expect(freePlace([0, 2])).toBe(1);
  expect(freePlace([0, 1, 2, 3])).toBeNull();
});
