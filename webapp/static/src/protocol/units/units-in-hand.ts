/**
 * The units that a client has in hand, and how far each of them is, in the order in which they came: without I/O.
 * `backend/protocols/client/units_in_hand.py` is its mirror.
 */

import { chain, type Step, step } from "../client/reducer";
import type { Effect, Result, Unit } from "./unit-client-events";

/** How far one unit is. `queued`: fetched, until a place to train is free. */
export type Stage = "fetching" | "queued" | "training" | "sending";

/** A unit in hand. */
export interface Held {
  readonly unit: Unit;
  readonly stage: Stage;
  /** There once it is `sending`. */
  readonly result: Result | null;
  /** Bytes of it handed to `send_chunks` on this connection. */
  readonly sent: number;
}

export type Hand = readonly Held[];
type HandStep = Step<Hand, Effect>;

export function find(hand: Hand, lease: number): Held | undefined {
  return hand.find(({ unit }) => unit.lease === lease);
}

/** Whether this very work is in hand; the time that is left for it may differ. */
export function has(hand: Hand, unit: Unit): boolean {
  const mine = find(hand, unit.lease)?.unit;
  if (mine === undefined) return false;
  const { shard, ...rest } = { ...mine, seconds: unit.seconds };
  if (shard.sha256 !== unit.shard.sha256 || shard.examples !== unit.shard.examples) return false;
  return (Object.keys(rest) as (keyof typeof rest)[]).every((key) => rest[key] === unit[key]);
}

export function lacksResult(hand: Hand, lease: number): boolean {
  return find(hand, lease)?.result === null;
}

/** One more, to be fetched. */
export function take(hand: Hand, unit: Unit): HandStep {
  const held: Held = { unit, stage: "fetching", result: null, sent: 0 };
  return step([...hand, held], { type: "fetch", unit });
}

/** What was being fetched is here; null where it was not being fetched. */
export function fetched(hand: Hand, lease: number): Hand | null {
  const held = find(hand, lease);
  return held?.stage === "fetching" ? put(hand, { ...held, stage: "queued" }) : null;
}

/** Trains what was fetched first, as far as there are places for so many `atOnce`. */
export function begin(hand: Hand, atOnce: number): HandStep {
  const training = hand.filter(({ stage }) => stage === "training").length;
  const free = Math.max(0, atOnce - training);
  const begun = hand.filter(({ stage }) => stage === "queued").slice(0, free);
  return chain(
    hand,
    ...begun.map((one) => (now: Hand): HandStep => {
      return step(put(now, { ...one, stage: "training" }), { type: "train", unit: one.unit });
    }),
  );
}

/** What this is the result of was in training, and is sent from now on; null where it was not. */
export function trained(hand: Hand, result: Result): Hand | null {
  const held = find(hand, result.lease);
  return held?.stage === "training" ? put(hand, { ...held, stage: "sending", result }) : null;
}

/** What may be sent of a result, and was not yet, up to the byte `granted`. */
export function send(hand: Hand, lease: number, granted: number): HandStep {
  const held = find(hand, lease);
  if (!held?.result) return step(hand);
  const until = Math.min(granted, held.result.size);
  if (until <= held.sent) return step(hand);
  return step(put(hand, { ...held, sent: until }), { type: "send_chunks", lease, from: held.sent, until });
}

/** On a new connection nothing of any result was sent. */
export function sendAnew(hand: Hand): Hand {
  return hand.map((one) => (one.result ? { ...one, sent: 0 } : one));
}

/** One that is over, if it is in hand. */
export function forget(hand: Hand, lease: number): HandStep {
  if (!find(hand, lease)) return step(hand);
  return step(
    hand.filter(({ unit }) => unit.lease !== lease),
    { type: "forget", lease },
  );
}

/** None is needed any more. */
export function forgetAll(hand: Hand): HandStep {
  return chain(
    hand,
    ...hand.map(
      ({ unit: { lease } }) =>
        (now: Hand) =>
          forget(now, lease),
    ),
  );
}

function put(hand: Hand, held: Held): Hand {
  const { lease } = held.unit;
  return hand.map((one) => (one.unit.lease === lease ? held : one));
}
