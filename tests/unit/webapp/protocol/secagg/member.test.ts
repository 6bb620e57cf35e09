import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { inEnglish } from "../../../../../webapp/static/src/core/user-messages";
import {
  handle,
  INITIAL,
  members,
  type Stage,
  type State,
  TRANSITIONS,
  tagOf,
} from "../../../../../webapp/static/src/protocol/secagg/member";
import type { Effect, Event } from "../../../../../webapp/static/src/protocol/secagg/member-events";
import {
  degree,
  neighboursOf,
  type Server,
  signers,
} from "../../../../../webapp/static/src/protocol/secagg/terms";

interface Step {
  readonly event: Event;
  readonly effects: readonly Effect[];
  readonly stage: string;
  readonly latest: number;
  readonly members: number;
  readonly reason: string | null;
}

interface Golden {
  /** Told on a new machine, or on one that went through the conversation `after`. */
  readonly conversations: readonly {
    readonly name: string;
    readonly after: string | null;
    readonly steps: readonly Step[];
  }[];
  readonly graphs: readonly {
    readonly members: number;
    readonly server: Server;
    readonly degree: readonly [neighbours: number, threshold: number];
    readonly signers: number;
    readonly ring: readonly number[];
    readonly first: readonly number[];
  }[];
}

const BYTES = ["mask_key", "share_key", "seed_hash", "identity", "signature"];
const LISTS_OF_BYTES = ["sealed", "signatures"];

/** JSON has base64 where messages have bytes; a list of shares is one of bytes in `reveal` and `revealed` only. */
function bytes(key: string, value: unknown): unknown {
  if (typeof value === "string" && BYTES.includes(key)) return fromBase64(value);
  if (Array.isArray(value) && (LISTS_OF_BYTES.includes(key) || key === "shares")) {
    return value.map((item: unknown) => (typeof item === "string" ? fromBase64(item) : item));
  }
  return value;
}

function fromBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "base64"));
}

const path = new URL("../../../../contract/vectors/secagg.json", import.meta.url);
const golden = JSON.parse(readFileSync(path, "utf8"), bytes) as Golden;

function stepsOf(name: string): readonly Step[] {
  const story = golden.conversations.find((one) => one.name === name);
  if (story === undefined) throw new Error(`There is no conversation '${name}'.`);
  return [...(story.after === null ? [] : stepsOf(story.after)), ...story.steps];
}

/** Python's reasons are in English; pages translate those of the browser. */
function asPython(effect: Effect): object {
  return "reason" in effect ? { ...effect, reason: inEnglish(effect.reason) } : effect;
}

describe("The browser's member of masked rounds speaks like Python's", () => {
  test.each(golden.conversations)("$name", ({ name }) => {
    let state = INITIAL;
    for (const expected of stepsOf(name)) {
      const result = handle(state, expected.event);
      state = result.state;
      expect(result.effects.map(asPython)).toEqual(expected.effects);
      const { stage, latest, reason } = state;
      const told = reason === null ? null : inEnglish(reason);
      expect({ stage, latest, members: members(state), reason: told }).toEqual({
        stage: expected.stage,
        latest: expected.latest,
        members: expected.members,
        reason: expected.reason,
      });
    }
  });
});

test("an event that makes no sense changes nothing", () => {
  for (const { name } of golden.conversations) {
    let state: State = INITIAL;
    for (const { event } of stepsOf(name)) {
      const after = handle(state, event);
      const again = handle(after.state, event);
      if (again.effects.length === 0) expect(again.state).toEqual(after.state);
      state = after.state;
    }
  }
});

/** All different states that the golden conversations go through, and all different events. */
function everything(): { readonly states: readonly State[]; readonly events: readonly Event[] } {
  const states = new Map([[JSON.stringify(INITIAL), INITIAL]]);
  const events = new Map<string, Event>();
  for (const { name } of golden.conversations) {
    let state: State = INITIAL;
    for (const { event } of stepsOf(name)) {
      state = handle(state, event).state;
      states.set(JSON.stringify(state), state);
      events.set(JSON.stringify(event), event);
    }
  }
  return { states: [...states.values()], events: [...events.values()] };
}

describe("The table of transitions", () => {
  const { states, events } = everything();

  test.each(Object.keys(TRANSITIONS) as Stage[])("says all that can happen in %s, and no more", (stage) => {
    const row = TRANSITIONS[stage];
    const happened = new Set<string>();
    for (const state of states.filter((one) => one.stage === stage)) {
      for (const event of events) {
        const [tag, after] = [tagOf(event), handle(state, event)];
        const then = row[tag];
        if (then === undefined) {
          expect(after.effects).toEqual([]);
          expect(after.state).toBe(state);
        } else {
          expect([stage, ...then]).toContain(after.state.stage);
          happened.add(`${tag} ${after.state.stage}`);
        }
      }
    }
    const promised = Object.entries(row).flatMap(([tag, then]) => then.map((one) => `${tag} ${one}`));
    expect([...happened]).toEqual(expect.arrayContaining(promised));
  });
});

test("the state given to the reducer is never changed", () => {
  for (const { name } of golden.conversations) {
    let state = Object.freeze({ ...INITIAL });
    for (const { event } of stepsOf(name)) {
      if (state.round) Object.freeze(state.round);
      state = Object.freeze({ ...handle(state, event).state });
    }
  }
});

test.each(golden.graphs)("$members members of a server that is $server", (graph) => {
  const found = degree(graph.members, graph.server);
  expect([found.neighbours, found.threshold]).toEqual(graph.degree);
  expect(signers(graph.members, graph.server)).toBe(graph.signers);
  if (graph.ring.length > 0) expect(neighboursOf(0, graph.ring, found.neighbours)).toEqual(graph.first);
});

test("a roster beyond what the graph is made for is refused", () => {
  expect(() => degree(257, "active")).toThrow(RangeError);
  expect(() => degree(2049, "honest")).toThrow(RangeError);
});
