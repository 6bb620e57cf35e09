import { describe, expect, test } from "vitest";
import { historyAfter } from "../../../../../../webapp/static/src/client/units/unit-history";
import { NOTHING } from "../../../../../../webapp/static/src/client/units/view";
import type { Board, Standing } from "../../../../../../webapp/static/src/protocol/units/unit-client-events";
import { epochOf, rowsOf, trustOf } from "../../../../../../webapp/static/src/ui/train/units/view";
import { given, ready, unitOf } from "../../../client/units/fixtures";

const BOARD: Board = {
  type: "board",
  phase: "training",
  epoch: 3,
  epochs: 40,
  tally: { units: 64, done: 12, leased: 8, compared: 1 },
  base: 130,
  backlog: 0,
  browsers: 1,
  peers: 2,
  measured: 128,
  loss: 0.5,
  metrics: { accuracy: 0.812 },
};
const STANDING: Standing = {
  type: "standing",
  credited: 320,
  units: 10,
  checked: 0,
  trusted: false,
  quota: 37,
};

describe("The epoch", () => {
  test("is told with how far all are, who takes part and what was measured", () => {
    expect(epochOf(BOARD)).toEqual({
      line: "Epoch 3 of 40: 12 of 64 units are done.",
      more: "8 are with devices, 1 waits to be compared. 1 browser and 2 peers take part.",
      measured:
        "With 128 results in it, the model is right with 81.2\u202f% of the examples that nobody trains on; its loss is 0.5.",
      done: 12,
      units: 64,
    });
  });

  test("is told without what there is not", () => {
    const tally = { units: 1, done: 1, leased: 0, compared: 0 };
    const told = epochOf({ ...BOARD, tally, loss: null, metrics: {} });
    expect(told.line).toBe("Epoch 3 of 40: 1 of 1 unit is done.");
    expect(told.more).toBe("1 browser and 2 peers take part.");
    expect(told.measured).toBe("");
    expect(epochOf({ ...BOARD, metrics: {} }).measured).toBe(
      "With 128 results in it, the model has a loss of 0.5.",
    );
  });
});

describe("What the server thinks of a device", () => {
  test("is in plain words", () => {
    expect(trustOf(null, "newcomers")).toEqual(["", ""]);
    expect(trustOf(STANDING, "newcomers")[0]).toContain("new here");
    const checked = trustOf({ ...STANDING, checked: 1 }, "newcomers")[0];
    expect(checked).toContain("1 result of yours in a row agrees");
    const trusted = trustOf({ ...STANDING, checked: 12, trusted: true }, "newcomers")[0];
    expect(trusted).toContain("your device is trusted");
    expect(trustOf(STANDING, "newcomers")[1]).toBe("It may do 37 more units today.");
  });

  test("speaks of comparison only as far as the task compares", () => {
    const sampled = "Your device’s results count when they arrive. Occasionally one is first compared";
    expect(trustOf(STANDING, "samples")[0].startsWith(sampled)).toBe(true);
    expect(trustOf({ ...STANDING, checked: 3 }, "samples")[0]).toContain(
      `3 results of yours in a row agree with what others sent. ${sampled}`,
    );
    for (const standing of [STANDING, { ...STANDING, checked: 12, trusted: true }]) {
      expect(trustOf(standing, "none")).toEqual([
        "Your device’s results count when they arrive: nobody repeats them for comparison.",
        "It may do 37 more units today.",
      ]);
    }
  });
});

test("Units are listed with what happens with them, the newest first", () => {
  const [first, second] = [unitOf(1), unitOf(2)];
  const rejected = {
    type: "rejected",
    lease: 1,
    code: "differs",
    reason: "Others agree on something else.",
  } as const;
  const pieces = [first, second, rejected].reduce(historyAfter, []);
  const machine = ready(given(second), { type: "fetched", lease: 2 });
  const progress = { type: "progress", id: 1, step: 3, steps: 8, loss: 0.25, stepMs: 5 } as const;
  expect(rowsOf({ ...NOTHING, machine, units: pieces, progress })).toEqual([
    {
      lease: 2,
      doing: "training",
      name: "Unit 12 of epoch 3",
      text: "is trained: step 3 of 8",
      reason: "",
    },
    {
      lease: 1,
      doing: "rejected",
      name: "Unit 11 of epoch 3",
      text: "does not count",
      reason: "Others agree on something else.",
    },
  ]);
});
