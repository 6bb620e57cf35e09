import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { nextPlan } from "../../../../../../webapp/static/src/protocol/mesh/serverless/last-round";
import { ServerlessRounds } from "../../../../../../webapp/static/src/protocol/mesh/serverless/rounds";
import {
  type Event,
  type ServerlessStage,
  TRANSITIONS,
} from "../../../../../../webapp/static/src/protocol/mesh/serverless/serverless-events";
import type { Train } from "../../../../../../webapp/static/src/protocol/rounds/participant-events";

interface Conversation {
  readonly name: string;
  readonly own: string;
  readonly steward: boolean;
  readonly steps: readonly {
    readonly now: number;
    readonly event: Event;
    readonly effects: readonly unknown[];
    readonly stage: ServerlessStage;
    readonly timer: number | null;
  }[];
}

// The machine only hands bytes on: they stay the texts in base64 that Python wrote.
const conversations = JSON.parse(
  readFileSync("tests/contract/vectors/onward.json", "utf8"),
) as readonly Conversation[];
// Browsers do not lead.
const following = conversations.filter(({ steward }) => !steward);

describe("A browser goes on without the server like a Python peer that does not lead", () => {
  test.each(following)("$name", ({ own, steps }) => {
    const machine = new ServerlessRounds(own);
    for (const { now, event, effects, stage, timer } of steps) {
      expect(machine.happened(event, now)).toEqual(effects);
      expect({ stage: machine.stage, timer: machine.timer() }).toEqual({ stage, timer });
    }
  });
});

/** The only stage in which such an event, or frame of a peer, changes anything. */
const ONLY_IN: Readonly<Record<string, ServerlessStage>> = {
  deserted: "attended",
  measured: "measuring",
  set_out: "calling",
  group: "trained",
};

test.each(following)("an event of another stage or a stranger changes nothing: $name", ({ own, steps }) => {
  const machine = new ServerlessRounds(own);
  const received = steps.flatMap(({ event }) => (event.type === "heard" ? [event] : []));
  const others: readonly Event[] = [{ type: "deserted", busy: false }, ...received];
  for (const { now, event, effects, stage, timer } of steps) {
    for (const other of others) {
      const kind = other.type === "heard" ? other.frame.type : other.type;
      if ((ONLY_IN[kind] ?? machine.stage) === machine.stage) continue;
      expect(machine.happened(other, now)).toEqual([]);
    }
    for (const other of received) {
      expect(machine.happened({ ...other, client: "9".repeat(16) }, now)).toEqual([]);
    }
    const before = machine.stage;
    expect(machine.happened(event, now)).toEqual(effects);
    expect({ stage: machine.stage, timer: machine.timer() }).toEqual({ stage, timer });
    expect(stage === before || TRANSITIONS[before].has(stage)).toBe(true);
  }
});

test("it is known with whom a browser would go on, and whom it believes", () => {
  const [story] = following.filter(({ name }) => name === "the steward is lost");
  const machine = new ServerlessRounds(story?.own ?? "");
  const company = story?.steps.map(({ event, now }) => {
    machine.happened(event, now);
    return [event.type, machine.peers?.length ?? null];
  });
  expect(company?.slice(5)).toEqual([
    ["certified", null],
    ["deserted", 2],
    ["time_passed", 2],
    ["heard", 2],
    ["trained", 2],
    // The link to the steward.
    ["lost", 1],
    ["heard", 1],
    ["time_passed", 1],
  ]);
  expect([machine.survivors.has("1123456789abcdef"), machine.survivors.has("9".repeat(16))]).toEqual([
    true,
    false,
  ]);
});

test("a schedule and the seed go on with the rounds", () => {
  const told = following[0]?.steps.find(({ event }) => event.type === "told")?.event;
  if (told?.type !== "told" || told.frame.type !== "train") throw new Error("The first story has a plan.");
  const second: Train = { ...told.frame, version: 4, weights: "e".repeat(64), past_steps: 40 };
  const third = nextPlan(second, 9, "a".repeat(64), 20);
  expect(third).toMatchObject({ round: 9, version: 5, past_steps: 50, seconds: 20 });
  expect(third.seed).not.toBe(second.seed);
  expect(nextPlan(third, 10, "a".repeat(64), 20)).toMatchObject({ version: 5, past_steps: 50 });
  // Exact where floats are not: (7 + 0x9E3779B1 * (2^40 - 1)) mod 2^31, as Python says.
  expect(nextPlan(second, 2 ** 40, "a".repeat(64), 20).seed).toBe(1640531542);
});
