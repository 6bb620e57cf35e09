import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  handleMemberEvent,
  INITIAL,
  memberPhase,
} from "../../../../../webapp/static/src/protocol/mesh/member";
import type { MemberEvent } from "../../../../../webapp/static/src/protocol/mesh/member-events";

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
      const result = handleMemberEvent(state, expected.event);
      state = result.state;
      expect(result.effects).toEqual(expected.effects);
      const { averaged, failed, reason, enter } = state;
      const stood = { phase: memberPhase(state), holds: enter?.holds ?? null, averaged, failed, reason };
      const { phase: named, holds, averaged: good, failed: bad, reason: why } = expected;
      expect(stood).toEqual({ phase: named, holds, averaged: good, failed: bad, reason: why });
    }
  });
});
