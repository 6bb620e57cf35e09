import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  handle,
  INITIAL,
  phase,
  type UnitClientState,
} from "../../../../../webapp/static/src/protocol/units/unit-client";
import type {
  UnitClientEffect,
  UnitClientEvent,
} from "../../../../../webapp/static/src/protocol/units/unit-client-events";
import { LEGAL_PHASES } from "../../../../../webapp/static/src/protocol/units/unit-client-phases";
import { expectIllegalEventsIgnored } from "../illegal-events";

interface Standing {
  readonly phase: string;
  readonly held: readonly (readonly [number, string])[];
  readonly waiting: readonly number[];
  readonly counted: number;
  readonly blended: number;
  readonly rejected: number;
  readonly examples: number;
  readonly idle: string | null;
  readonly reason: string | null;
}
interface Conversation {
  readonly name: string;
  readonly steps: readonly ({
    readonly event: UnitClientEvent;
    readonly effects: readonly UnitClientEffect[];
  } & Standing)[];
}

const path = new URL("../../../../contract/vectors/worker.json", import.meta.url);
const conversations = JSON.parse(readFileSync(path, "utf8")) as readonly Conversation[];

function standing(state: UnitClientState): Standing {
  const { counted, blended, rejected, examples, idle, reason } = state;
  const held = state.units.map(({ unit, stage }) => [unit.lease, stage] as const);
  const waiting = [...state.waiting].sort((one, other) => one - other);
  return { phase: phase(state), held, waiting, counted, blended, rejected, examples, idle, reason };
}

describe("The browser's client of work units speaks like the Python one", () => {
  test.each(conversations)("$name", ({ steps }) => {
    let state = INITIAL;
    for (const { event, effects, ...expected } of steps) {
      const result = handle(state, event);
      state = result.state;
      expect(result.effects).toEqual(effects);
      expect(standing(state)).toEqual(expected);
    }
  });
});

test("an event that makes no sense changes nothing", () => {
  const events: readonly UnitClientEvent[] = [
    { type: "connected" },
    { type: "loaded", backend: "wasm", step_ms: 1, program: null },
    { type: "fetched", lease: 1 },
    {
      type: "trained",
      lease: 1,
      examples: 1,
      steps: 1,
      loss: 1,
      sums: [],
      size: 4,
      commitment: null,
      checkpoints: [],
      salt: null,
    },
    { type: "frame", frame: { type: "open", lease: 1 } },
    { type: "failed", lease: 1, cause: "data" },
    { type: "pulse", lease: 1, steps: 1 },
    { type: "disconnected", random: 0 },
    { type: "frame", frame: { type: "credit", round: 1, until: 10 } },
    { type: "frame", frame: { type: "counted", lease: 1, examples: 3, blended: true } },
    { type: "stop" },
  ];
  for (const event of events) expect(handle(INITIAL, event)).toEqual({ state: INITIAL, effects: [] });
});

test("the state given to the reducer is never changed", () => {
  for (const { steps } of conversations) {
    let state = Object.freeze({ ...INITIAL });
    for (const { event } of steps) {
      state = Object.freeze({ ...handle(state, event).state });
      Object.freeze(state.units);
      Object.freeze(state.waiting);
    }
  }
});

test("an event that the table does not name for a phase changes nothing in it", () => {
  expectIllegalEventsIgnored({ INITIAL, LEGAL_PHASES, phase, handle }, conversations);
});
