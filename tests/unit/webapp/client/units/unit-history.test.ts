import { describe, expect, test } from "vitest";
import {
  activityOf,
  historyAfter,
  recentUnits,
  type ShownUnit,
} from "../../../../../webapp/static/src/client/units/unit-history";
import type { UnitClientEvent } from "../../../../../webapp/static/src/protocol/units/unit-client-events";
import type { ServerToUnits } from "../../../../../webapp/static/src/protocol/wire/units";
import { given, ready, trained, unitOf } from "./fixtures";

function told(...frames: readonly ServerToUnits[]): readonly ShownUnit[] {
  return frames.reduce<readonly ShownUnit[]>(historyAfter, []);
}

const only = (pieces: readonly ShownUnit[]): ShownUnit => {
  expect(pieces).toHaveLength(1);
  return pieces[0] as ShownUnit;
};

describe("What becomes of a unit", () => {
  test.each([
    ["looked at", { type: "taken", lease: 1, waits: false }, "checked"],
    ["compared with others'", { type: "taken", lease: 1, waits: true }, "compared"],
    ["blended", { type: "counted", lease: 1, examples: 32, blended: true }, "blended"],
    [
      "counted without being the one in the model",
      { type: "counted", lease: 1, examples: 32, blended: false },
      "counted",
    ],
    [
      "rejected",
      { type: "rejected", lease: 1, code: "differs", reason: "Others agree on something else." },
      "rejected",
    ],
    ["dropped", { type: "drop", lease: 1, reason: "Another one was faster." }, "dropped"],
  ] as const)("is told when it is %s", (_, frame, word) => {
    const piece = only(told(unitOf(1), frame));
    expect(piece).toMatchObject({ lease: 1, unit: 11, epoch: 3, examples: 32 });
    expect(activityOf(piece, ready())).toBe(word);
    expect(piece.reason).toBe("reason" in frame ? frame.reason : null);
  });

  test("is told when another result overwrote it in the model", () => {
    const counted = { type: "counted", lease: 1, examples: 32, blended: true } as const;
    const dropped = { type: "drop", lease: 1, reason: "Another one overwrote it." } as const;
    expect(only(told(unitOf(1), counted, dropped)).verdict).toBe("overwritten");
  });

  test("is what the machine does with it before anything is said", () => {
    const [first, second] = [unitOf(1), unitOf(2)];
    const pieces = told(first, second);
    const stages = (...events: readonly UnitClientEvent[]) =>
      pieces.map((piece) => activityOf(piece, ready(...events)));
    const both = [given(first), given(second)] as const;
    expect(stages(...both)).toEqual(["waiting", "waiting"]);
    const begun = [...both, { type: "fetched", lease: 1 }, { type: "fetched", lease: 2 }] as const;
    expect(stages(...begun)).toEqual(["training", "waiting"]);
    expect(stages(...begun, trained(1))).toEqual(["sending", "training"]);
    expect(stages(...begun, { type: "give_back", cause: "stopping" })).toEqual(["released", "released"]);
  });

  test("is told once of a unit that the server repeats", () => {
    const again = { ...unitOf(1), seconds: 3 };
    expect(activityOf(only(told(unitOf(1), again)), ready(given(again)))).toBe("waiting");
  });

  test("is not told of what others' units became", () => {
    const frames = told(unitOf(1), { type: "drop", lease: 9, reason: "" });
    expect(only(frames).verdict).toBeNull();
  });
});

test("The list keeps those in hand, and the newest of the others", () => {
  const leases = Array.from({ length: 30 }, (_, i) => i + 1);
  const inHand = [2, 4];
  const frames = leases.flatMap<ServerToUnits>((lease) => {
    if (inHand.includes(lease)) return [unitOf(lease)];
    return [unitOf(lease), { type: "taken", lease, waits: lease % 2 === 0 }];
  });
  const machine = ready(...inHand.map((lease) => given(unitOf(lease))));
  const kept = recentUnits(told(...frames), machine).map(({ lease }) => lease);
  expect(kept).toEqual([2, 4, 23, 24, 25, 26, 27, 28, 29, 30]);
});
