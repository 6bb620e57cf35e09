import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Effect, Event } from "../../../../../webapp/static/src/protocol/allreduce/group-events";
import {
  AllReduce,
  EVENTS,
  type MemberPhase,
  TRANSITIONS,
} from "../../../../../webapp/static/src/protocol/allreduce/member";
import type { GroupOrder } from "../../../../../webapp/static/src/protocol/wire/mesh";

interface Conversation {
  readonly name: string;
  readonly order: GroupOrder;
  readonly place: number;
  readonly steps: readonly {
    readonly now: number;
    readonly event: Event;
    readonly effects: readonly Effect[];
    readonly timer: number | null;
  }[];
}

/** JSON has base64 where machines have digests. */
function digests(key: string, value: unknown): unknown {
  const read = (text: unknown) =>
    typeof text === "string" ? new Uint8Array(Buffer.from(text, "base64")) : text;
  if (key === "digest" || key === "key") return read(value);
  if ((key === "parts" || key === "commitments") && Array.isArray(value)) return value.map(read);
  return value;
}

const golden = ["allreduce.json", "allreduce_masked.json"].flatMap((file) => {
  const text = readFileSync(new URL(`../../../../contract/vectors/${file}`, import.meta.url), "utf8");
  return JSON.parse(text, digests) as readonly Conversation[];
});

describe("The browser's member of a group decides like Python's", () => {
  test.each(golden)("$order.precision: $name, at place $place", ({ order, place, steps }) => {
    const machine = new AllReduce(order, place, 0);
    for (const { now, event, effects, timer } of steps) {
      expect(machine.happened(event, now)).toEqual(effects);
      expect(machine.timer()).toBe(timer);
    }
  });
});

describe("A phase takes only the events of its row", () => {
  const events: readonly Event[] = [
    { type: "prepared", weight: 1, commitments: [], key: new Uint8Array() },
    { type: "piece_came", place: 1, part: 0, contributors: [], digest: new Uint8Array(32) },
    { type: "mean_came", place: 1, part: 0, contributors: [0], digest: new Uint8Array(32) },
    { type: "reduced", part: 0, contributors: [0], digest: new Uint8Array(32) },
    { type: "unfit", place: 0, reason: "It has no numbers." },
    { type: "unfit", place: 1, reason: "It has no numbers." },
    { type: "linked", place: 1 },
    { type: "lost", place: 1 },
    { type: "silent", place: 1 },
    { type: "time_passed" },
  ];

  test("and goes only to phases of the table", () => {
    const ends = new Set<MemberPhase>();
    for (const { order, place, steps } of golden) {
      const machine = new AllReduce(order, place, 0);
      for (const { now, event } of steps) {
        const before = machine.phase;
        machine.happened(event, now);
        expect(machine.phase === before || TRANSITIONS[before].has(machine.phase)).toBe(true);
      }
      ends.add(machine.phase);
    }
    expect(ends).toContain("finished");
    expect(ends).toContain("failed");
  });

  test("so that any other one changes nothing", () => {
    for (const { order, place, steps } of golden) {
      const machine = new AllReduce(order, place, 0);
      for (const { now, event, effects, timer } of steps) {
        for (const other of events) {
          if (!EVENTS[machine.phase].has(other.type)) expect(machine.happened(other, 0)).toEqual([]);
        }
        expect(machine.happened(event, now)).toEqual(effects);
        expect(machine.timer()).toBe(timer);
      }
    }
  });
});
