/**
 * The units that a client has in hand and the progress of each, in order of arrival, without I/O. The twin is
 * backend/protocols/client/units_in_hand.py.
 */

import { chain, type Step, step } from "../client/reducer";
import type { Result, Unit, UnitClientEffect } from "./unit-client-events";

/** The progress of one unit. `queued`: it is fetched, and waits for a free training slot. */
export type UnitStage = "fetching" | "queued" | "training" | "sending";

/** A unit in hand. */
export interface HeldUnit {
  readonly unit: Unit;
  readonly stage: UnitStage;
  /** Set once the unit is `sending`. */
  readonly result: Result | null;
  /** The salt of the commitment in the result, if it has one. */
  readonly salt: string | null;
  /** Bytes of the result that were handed to `send_chunks` on this connection. */
  readonly sent: number;
}

export type HeldUnits = readonly HeldUnit[];
type HeldUnitsStep = Step<HeldUnits, UnitClientEffect>;

export function findUnit(hand: HeldUnits, lease: number): HeldUnit | undefined {
  return hand.find(({ unit }) => unit.lease === lease);
}

/** Whether the client already holds this unit; only the remaining time may differ. */
export function holdsUnit(hand: HeldUnits, unit: Unit): boolean {
  const sameLease = findUnit(hand, unit.lease)?.unit;
  if (sameLease === undefined) return false;
  const { shard, ...rest } = { ...sameLease, seconds: unit.seconds };
  if (shard.sha256 !== unit.shard.sha256 || shard.examples !== unit.shard.examples) return false;
  return (Object.keys(rest) as (keyof typeof rest)[]).every((key) => rest[key] === unit[key]);
}

export function lacksResult(hand: HeldUnits, lease: number): boolean {
  return findUnit(hand, lease)?.result === null;
}

/** Adds a unit and fetches it. */
export function addUnit(hand: HeldUnits, unit: Unit): HeldUnitsStep {
  const added: HeldUnit = { unit, stage: "fetching", result: null, salt: null, sent: 0 };
  return step([...hand, added], { type: "fetch", unit });
}

/** Marks a unit as fetched; returns null if it was not being fetched. */
export function markFetched(hand: HeldUnits, lease: number): HeldUnits | null {
  const current = findUnit(hand, lease);
  return current?.stage === "fetching" ? replaceUnit(hand, { ...current, stage: "queued" }) : null;
}

/** Trains the units that were fetched first, until `atOnce` are in training. */
export function beginTraining(hand: HeldUnits, atOnce: number): HeldUnitsStep {
  const training = hand.filter(({ stage }) => stage === "training").length;
  const free = Math.max(0, atOnce - training);
  const begun = hand.filter(({ stage }) => stage === "queued").slice(0, free);
  return chain(
    hand,
    ...begun.map((one) => (hand: HeldUnits): HeldUnitsStep => {
      return step(replaceUnit(hand, { ...one, stage: "training" }), { type: "train", unit: one.unit });
    }),
  );
}

/**
 * Stores the result of a unit, which is sent from now on, and the salt of its commitment; returns null if the unit was
 * not in training.
 */
export function markTrained(hand: HeldUnits, result: Result, salt: string | null): HeldUnits | null {
  const current = findUnit(hand, result.lease);
  return current?.stage === "training"
    ? replaceUnit(hand, { ...current, stage: "sending", result, salt })
    : null;
}

/** Sends the unsent bytes of a result up to the granted byte. */
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

/** Marks all results as unsent, since the connection is new. */
export function restartSending(hand: HeldUnits): HeldUnits {
  return hand.map((one) => (one.result ? { ...one, sent: 0 } : one));
}

/** Removes a unit, if it is in hand. */
export function forgetUnit(hand: HeldUnits, lease: number): HeldUnitsStep {
  if (!findUnit(hand, lease)) return step(hand);
  return step(
    hand.filter(({ unit }) => unit.lease !== lease),
    { type: "forget", lease },
  );
}

/** Removes all units. */
export function forgetUnits(hand: HeldUnits): HeldUnitsStep {
  return chain(
    hand,
    ...hand.map(
      ({ unit: { lease } }) =>
        (hand: HeldUnits) =>
          forgetUnit(hand, lease),
    ),
  );
}

function replaceUnit(hand: HeldUnits, changed: HeldUnit): HeldUnits {
  const { lease } = changed.unit;
  return hand.map((one) => (one.unit.lease === lease ? changed : one));
}
