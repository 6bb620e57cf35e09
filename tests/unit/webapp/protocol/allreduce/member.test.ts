import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Effect, Event } from "../../../../../webapp/static/src/protocol/allreduce/events";
import { AllReduce } from "../../../../../webapp/static/src/protocol/allreduce/member";
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
