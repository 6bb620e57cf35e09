import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { declines, handle, INITIAL, phase } from "../../../../../webapp/static/src/protocol/mesh/member";
import type { MemberEvent } from "../../../../../webapp/static/src/protocol/mesh/member-events";
import { LEGAL_PHASES } from "../../../../../webapp/static/src/protocol/mesh/member-phases";
import { expectIllegalEventsIgnored } from "../illegal-events";

interface Conversation {
  readonly name: string;
  readonly steps: readonly {
    readonly event: MemberEvent;
    readonly effects: readonly unknown[];
    readonly phase: string;
    readonly holds: string | null;
    readonly averaged: number;
    readonly failed: number;
    readonly reason: string | null;
  }[];
}

// The machine only hands bytes on: they stay the texts in base64 that Python wrote.
const conversations = JSON.parse(
  readFileSync("tests/contract/vectors/mesh_member.json", "utf8"),
) as readonly Conversation[];

test("with the server it declines groups of the peers except the one that it is in", () => {
  for (const { steps } of conversations) {
    let state = INITIAL;
    for (const { event } of steps) {
      state = handle(state, event).state;
      const { group } = state.inHand;
      if (group === null) expect(declines(state, 1, 2 ** 40)).toBe(state.connection.state === "open");
      else expect(declines(state, group.round, group.group)).toBe(false);
      expect(declines(state, 1, 2 ** 40 - 1)).toBe(false);
    }
  }
});

describe("The browser's peer of a mesh speaks like the Python one", () => {
  test.each(conversations)("$name", ({ steps }) => {
    let state = INITIAL;
    for (const expected of steps) {
      const result = handle(state, expected.event);
      state = result.state;
      expect(result.effects).toEqual(expected.effects);
      const { averaged, failed, reason, enter } = state;
      const stood = { phase: phase(state), holds: enter?.holds ?? null, averaged, failed, reason };
      const { phase: named, holds, averaged: good, failed: bad, reason: why } = expected;
      expect(stood).toEqual({ phase: named, holds, averaged: good, failed: bad, reason: why });
    }
  });
});

test("an event that the table does not name for a phase changes nothing in it", () => {
  expectIllegalEventsIgnored({ INITIAL, LEGAL_PHASES, phase, handle }, conversations);
});
