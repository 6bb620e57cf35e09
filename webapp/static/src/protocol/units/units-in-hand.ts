/**
 * The units that a client has in hand, and how far each of them is, in the order in which they came: without I/O.
 * `backend/protocols/client/units_in_hand.py` is its mirror.
 */

import { chain, type Step, step } from "../client/reducer";
import type { Result, Unit, UnitClientEffect } from "./unit-client-events";

/** How far one unit is. `queued`: fetched, until a place to train is free. */
export type UnitStage = "fetching" | "queued" | "training" | "sending";

/** A unit in hand. */
export interface HeldUnit {
  readonly unit: Unit;
  readonly stage: UnitStage;
  /** There once it is `sending`. */
  readonly result: Result | null;
  /** Bytes of it handed to `send_chunks` on this connection. */
  readonly sent: number;
}

export type HeldUnits = readonly HeldUnit[];
type HeldUnitsStep = Step<HeldUnits, UnitClientEffect>;

export function findUnit(hand: HeldUnits, lease: number): HeldUnit | undefined {
  return hand.find(({ unit }) => unit.lease === lease);
}

/** Whether this very work is in hand; the time that is left for it may differ. */
export function holdsUnit(hand: HeldUnits, unit: Unit): boolean {
  const mine = findUnit(hand, unit.lease)?.unit;
  if (mine === undefined) return false;
  const { shard, ...rest } = { ...mine, seconds: unit.seconds };
  if (shard.sha256 !== unit.shard.sha256 || shard.examples !== unit.shard.examples) return false;
  return (Object.keys(rest) as (keyof typeof rest)[]).every((key) => rest[key] === unit[key]);
}

export function lacksResult(hand: HeldUnits, lease: number): boolean {
  return findUnit(hand, lease)?.result === null;
}

/** One more, to be fetched. */
export function addUnit(hand: HeldUnits, unit: Unit): HeldUnitsStep {
  const added: HeldUnit = { unit, stage: "fetching", result: null, sent: 0 };
  return step([...hand, added], { type: "fetch", unit });
}

/** What was being fetched is here; null where it was not being fetched. */
export function markFetched(hand: HeldUnits, lease: number): HeldUnits | null {
  const current = findUnit(hand, lease);
  return current?.stage === "fetching" ? replaceUnit(hand, { ...current, stage: "queued" }) : null;
}

/** Trains what was fetched first, as far as there are places for so many `atOnce`. */
export function beginTraining(hand: HeldUnits, atOnce: number): HeldUnitsStep {
  const training = hand.filter(({ stage }) => stage === "training").length;
  const free = Math.max(0, atOnce - training);
  const begun = hand.filter(({ stage }) => stage === "queued").slice(0, free);
  return chain(
    hand,
    ...begun.map((one) => (now: HeldUnits): HeldUnitsStep => {
      return step(replaceUnit(now, { ...one, stage: "training" }), { type: "train", unit: one.unit });
    }),
  );
}

/** What this is the result of was in training, and is sent from now on; null where it was not. */
export function markTrained(hand: HeldUnits, result: Result): HeldUnits | null {
  const current = findUnit(hand, result.lease);
  return current?.stage === "training" ? replaceUnit(hand, { ...current, stage: "sending", result }) : null;
}

/** What may be sent of a result, and was not yet, up to the byte `granted`. */
export function sendResult(hand: HeldUnits, lease: number, granted: number): HeldUnitsStep {
  const current = findUnit(hand, lease);
  if (!current?.result) return step(hand);
  const until = Math.min(granted, current.result.size);
  if (until <= current.sent) return step(hand);
  return step(replaceUnit(hand, { ...current, sent: until }), {
    type: "send_chunks",
    lease,
    from: current.sent,
    until,
  });
}

/** On a new connection nothing of any result was sent. */
export function restartSending(hand: HeldUnits): HeldUnits {
  return hand.map((one) => (one.result ? { ...one, sent: 0 } : one));
}

/** One that is over, if it is in hand. */
export function forgetUnit(hand: HeldUnits, lease: number): HeldUnitsStep {
  if (!findUnit(hand, lease)) return step(hand);
  return step(
    hand.filter(({ unit }) => unit.lease !== lease),
    { type: "forget", lease },
  );
}

/** None is needed any more. */
export function forgetUnits(hand: HeldUnits): HeldUnitsStep {
  return chain(
    hand,
    ...hand.map(
      ({ unit: { lease } }) =>
        (now: HeldUnits) =>
          forgetUnit(now, lease),
    ),
  );
}

function replaceUnit(hand: HeldUnits, changed: HeldUnit): HeldUnits {
  const { lease } = changed.unit;
  return hand.map((one) => (one.unit.lease === lease ? changed : one));
}
