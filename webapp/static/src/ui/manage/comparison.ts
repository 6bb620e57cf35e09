/** Other tasks of the owner, whose curves are laid over the curve of this one. */

import { charts } from "../../i18n/texts/owners/dashboard/charts";
import type { Points } from "../charts/lines";
import { requestJson } from "../lib/api";
import { setText } from "../lib/dom";
import type { DashboardHistory, VersionPoint } from "./frames";

/** As many curves as there are colours for them. */
const MOST_TASKS = 4;

/** A chosen task: its place among the colours stays the same while it is chosen. */
export interface ComparedTask {
  readonly task: string;
  readonly place: number;
  readonly losses: ComparedLosses;
}

/** The losses of a task by version: on held-out examples, or while training where it has no such. */
export interface ComparedLosses {
  readonly isHeldOut: boolean;
  readonly points: Points;
}

/** Returns the losses of the versions that were not left behind; null without any. */
export function comparedLosses(curve: readonly VersionPoint[]): ComparedLosses | null {
  const isHeldOut = curve.some(({ loss }) => loss !== null);
  const losses = curve.map(({ loss, training_loss, left }) =>
    left ? null : isHeldOut ? loss : training_loss,
  );
  if (losses.every((loss) => loss === null)) return null;
  return { isHeldOut, points: [curve.map(({ version }) => version), losses] };
}

/** Binds the choice in `page`, if it has one; calls `changed` with all chosen tasks. */
export function bindComparison(page: HTMLElement, changed: (tasks: readonly ComparedTask[]) => void): void {
  const choice = page.querySelector<HTMLElement>("[data-compare]");
  if (!choice) return;
  const problem = choice.querySelector<HTMLElement>("[data-compare-problem]");
  const ticks = [...choice.querySelectorAll<HTMLInputElement>("input[type=checkbox]")];
  const chosen = new Map<string, ComparedTask>();

  function report(text: string): void {
    if (problem) setText(problem, text);
  }

  async function change(tick: HTMLInputElement): Promise<void> {
    const task = tick.value;
    report("");
    if (!tick.checked) chosen.delete(task);
    else {
      const address = `/api/tasks/${encodeURIComponent(task)}/dashboard`;
      const answer = (await requestJson("GET", address).catch(() => null)) as DashboardHistory | null;
      // Meanwhile it may have been taken away again.
      if (!tick.checked) return;
      const place = freePlace([...chosen.values()].map((one) => one.place));
      const losses = answer === null ? null : comparedLosses(answer.curve);
      if (losses === null || place === null) {
        tick.checked = false;
        report(answer === null ? charts.unreachable(task) : charts.unmeasured(task));
      } else chosen.set(task, { task, place, losses });
    }
    const isFull = ticks.filter(({ checked }) => checked).length >= MOST_TASKS;
    for (const one of ticks) one.disabled = isFull && !one.checked;
    changed([...chosen.values()]);
  }

  for (const tick of ticks) tick.addEventListener("change", () => void change(tick));
}

/** Returns the first place that is not taken; null if all are. */
export function freePlace(taken: readonly number[]): number | null {
  for (let place = 0; place < MOST_TASKS; place += 1) if (!taken.includes(place)) return place;
  return null;
}
