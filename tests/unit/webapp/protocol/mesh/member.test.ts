import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { handle, INITIAL, phase } from "../../../../../webapp/static/src/protocol/mesh/member";
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
