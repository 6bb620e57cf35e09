import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { handle, INITIAL, phase } from "../../../../../webapp/static/src/protocol/rounds/participant";
import type {
  ParticipantEffect,
  ParticipantEvent,
} from "../../../../../webapp/static/src/protocol/rounds/participant-events";
import { LEGAL_PHASES } from "../../../../../webapp/static/src/protocol/rounds/participant-phases";
import { expectIllegalEventsIgnored } from "../illegal-events";

interface Conversation {
  readonly name: string;
  readonly steps: readonly {
    readonly event: ParticipantEvent;
    readonly effects: readonly ParticipantEffect[];
    readonly phase: string;
    readonly accepted: number;
    readonly refused: number;
    /** Absent where it is 0. */
    readonly checked?: number;
    readonly probation?: number;
    readonly reason: string | null;
  }[];
}

const path = new URL("../../../../contract/vectors/participant.json", import.meta.url);
const conversations = JSON.parse(readFileSync(path, "utf8")) as readonly Conversation[];

describe("The browser's session speaks like the Python participant", () => {
  test.each(conversations)("$name", ({ steps }) => {
    let state = INITIAL;
    for (const expected of steps) {
      const result = handle(state, expected.event);
      state = result.state;
      expect(result.effects).toEqual(expected.effects);
      const { accepted, refused, reason, checked, probation } = state;
      expect({ phase: phase(state), accepted, refused, reason, checked, probation }).toEqual({
        phase: expected.phase,
        accepted: expected.accepted,
        refused: expected.refused,
        reason: expected.reason,
        checked: expected.checked ?? 0,
        probation: expected.probation ?? 0,
      });
    }
  });
});

test("an event that makes no sense changes nothing", () => {
  const events: readonly ParticipantEvent[] = [
    { type: "connected" },
    { type: "loaded", backend: "wasm", step_ms: 1, examples: 0, program: null },
    { type: "trained", round: 1, examples: 1, steps: 1, loss: 1, sums: [], size: 4 },
    { type: "disconnected", random: 0 },
    { type: "frame", frame: { type: "credit", round: 1, until: 10 } },
    {
      type: "frame",
      frame: {
        type: "accepted",
        round: 1,
        examples: 3,
        counted: true,
        reason: "",
        code: null,
        found: [],
        rounds: 0,
      },
    },
    { type: "stop" },
  ];
  for (const event of events) expect(handle(INITIAL, event)).toEqual({ state: INITIAL, effects: [] });
});

test("the state given to the reducer is never changed", () => {
  for (const { steps } of conversations) {
    let state = Object.freeze({ ...INITIAL });
    for (const { event } of steps) state = Object.freeze({ ...handle(state, event).state });
  }
});

test("an event that the table does not name for a phase changes nothing in it", () => {
  expectIllegalEventsIgnored({ INITIAL, LEGAL_PHASES, phase, handle }, conversations);
});
