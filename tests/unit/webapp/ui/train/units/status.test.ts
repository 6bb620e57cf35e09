import { describe, expect, test } from "vitest";
import { NOTHING, type UnitsView } from "../../../../../../webapp/static/src/client/units/view";
import type { TrainingProgress } from "../../../../../../webapp/static/src/client/workers/training-worker";
import {
  handle,
  INITIAL,
  type UnitClientState,
} from "../../../../../../webapp/static/src/protocol/units/unit-client";
import type {
  IdleCause,
  UnitClientEvent,
} from "../../../../../../webapp/static/src/protocol/units/unit-client-events";
import { unitsStatus } from "../../../../../../webapp/static/src/ui/train/units/status";
import { given, ready, trained, unitOf } from "../../../client/units/fixtures";

const PROGRESS: TrainingProgress = { type: "progress", id: 1, step: 3, steps: 8, loss: 0.25, stepMs: 5 };

function says(machine: UnitClientState, change: Partial<UnitsView> = {}) {
  const { line, hint, phase, steps } = unitsStatus({ ...NOTHING, machine, ...change }, 0);
  return { line, hint, phase, steps };
}

const idle = (cause: IdleCause): UnitClientEvent => ({ type: "frame", frame: { type: "idle", cause } });
const away: UnitClientEvent = { type: "disconnected", random: 0.5 };
const unit = given(unitOf(1));
const fetched: UnitClientEvent = { type: "fetched", lease: 1 };

describe("The status of a device with work units", () => {
  test("invites before the first start", () => {
    expect(says(INITIAL)).toMatchObject({ line: "Ready when you are", phase: "stopped", steps: null });
  });

  test("says why there is no unit now", () => {
    expect(says(ready())).toMatchObject({ line: "Waiting for a unit", hint: "It comes in a moment." });
    expect(says(ready(idle("nothing"))).hint).toContain("with other devices");
    expect(says(ready(idle("bound"))).hint).toContain("far ahead");
    expect(says(ready(idle("released"))).hint).toContain("gave units back");
    expect(says(ready(idle("quota"))).line).toBe("Enough for today");
    expect(says(ready(idle("paused"))).line).toBe("Paused by the task’s owner");
  });

  test("follows a unit from the fetching to the sending", () => {
    expect(says(ready(unit))).toMatchObject({
      line: "Training: fetching the examples",
      hint: "Unit 11 of epoch 3.",
      phase: "training",
    });
    const begun = ready(unit, fetched);
    expect(says(begun)).toMatchObject({ line: "Training: the first step", steps: null });
    expect(says(begun, { progress: PROGRESS })).toMatchObject({
      line: "Step 3 of 8 in unit 11",
      hint: "Unit 11 of epoch 3. Loss 0.25.",
      steps: [3, 8],
    });
    expect(says(ready(unit, fetched, trained(1)))).toMatchObject({
      line: "Sending what was learned",
      phase: "uploading",
    });
  });

  test("says that nothing is lost while the server is away", () => {
    expect(says(ready(away), { retryAt: 4000 }).line).toBe("Offline: trying again in 4 s");
    expect(says(ready(unit, fetched, away), { progress: PROGRESS }).hint).toContain("step 3 of 8");
    expect(says(ready(unit, fetched, trained(1), away)).hint).toContain("Your unit is ready");
  });

  test("says that it finishes what it has", () => {
    expect(says(ready(unit, fetched), { finishing: true }).hint).toContain(
      "Your device finishes 1 unit, then it stops.",
    );
  });

  test("thanks at the end", () => {
    const counted: UnitClientEvent = {
      type: "frame",
      frame: { type: "counted", lease: 1, examples: 32, blended: true },
    };
    const stopped = ready(unit, fetched, trained(1), counted, { type: "stop" });
    expect(says(stopped)).toMatchObject({ line: "Stopped. Thank you!", phase: "stopped" });
    expect(says(stopped).hint).toContain("1 unit of yours counts.");
    expect(says(ready({ type: "stop" })).hint).toBe("Start again whenever you like.");
    expect(says(stopped, { problem: "No memory." })).toMatchObject({ line: "Stopped", hint: "No memory." });
  });

  test("says why the server sent it away for good", () => {
    const closing = { type: "closing", code: "banned", reason: "You may not take part." } as const;
    const { state } = handle(ready(), { type: "frame", frame: closing });
    expect(says(state)).toMatchObject({ line: "Stopped", hint: "You may not take part." });
  });
});
