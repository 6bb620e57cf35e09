/**
 * A work-unit client: a pure reducer without I/O. The twin is backend/protocols/client/unit_client.py.
 *
 * It holds several units at once, so that one is fetched and another one sent while a third is trained. The host
 * performs the effects in order and reports events; tests/contract/vectors/worker.json has conversations that both
 * languages replay.
 */

import {
  type ConnectedMachine,
  disconnectedPhase,
  dismiss,
  expects,
  greet,
  leave,
  loseConnection,
  NO_CONNECTION,
  openConnection,
  sendWhenOpen,
  start,
} from "../client/connection";
import { legalOnly, reducer, type Step } from "../client/reducer";
import type { Ready } from "../rounds/participant-events";
import {
  type Cause,
  MOST_HELD,
  MOST_SLOTS,
  type ServerToUnits,
  type UnitsFrameOf,
  type UnitsToServer,
} from "../wire/units";
import type {
  Board,
  Enlist,
  IdleCause,
  Result,
  Standing,
  Unit,
  UnitClientEffect,
  UnitClientEvent,
} from "./unit-client-events";
import { LEGAL_PHASES, type UnitClientPhase } from "./unit-client-phases";
import {
  addUnit,
  beginTraining,
  findUnit,
  forgetUnit,
  forgetUnits,
  type HeldUnits,
  holdsUnit,
  lacksResult,
  markFetched,
  markTrained,
  restartSending,
  sendResult,
} from "./units-in-hand";

/** One client of one task's work units, over all of its connections. */
export interface UnitClientState extends ConnectedMachine {
  readonly enlist: Enlist | null;
  readonly bundle: string | null;
  readonly ready: Ready | null;
  readonly slots: number;
  readonly atOnce: number;
  /** Seconds without a connection by which leases last longer. */
  readonly offline: number;
  /** The reason that is sent for units given back while there are no slots. */
  readonly cause: Cause;
  readonly units: HeldUnits;
  /** Checkpointed leases of an earlier session that are still to be fetched: other units come after them. */
  readonly checkpointed: readonly number[];
  /** Leases whose results the server still compares with others. */
  readonly waiting: readonly number[];
  readonly counted: number;
  readonly blended: number;
  readonly rejected: number;
  readonly examples: number;
  readonly idle: IdleCause | null;
  readonly standing: Standing | null;
  readonly board: Board | null;
}

export const INITIAL: UnitClientState = {
  connection: NO_CONNECTION,
  enlist: null,
  bundle: null,
  ready: null,
  slots: 0,
  atOnce: 1,
  offline: 0,
  cause: "paused",
  units: [],
  checkpointed: [],
  waiting: [],
  counted: 0,
  blended: 0,
  rejected: 0,
  examples: 0,
  idle: null,
  standing: null,
  board: null,
  reason: null,
};

type UnitClientStep = Step<UnitClientState, UnitClientEffect>;
const { step, chain } = reducer<UnitClientState, UnitClientEffect>();

export function phase(state: UnitClientState): UnitClientPhase {
  return disconnectedPhase(state.connection) ?? connectedPhase(state);
}

function connectedPhase(state: UnitClientState): UnitClientPhase {
  if (state.ready === null) return "loading";
  if (state.board?.phase === "finished") return "finished";
  const stages = state.units.map(({ stage }) => stage);
  if (stages.includes("training")) return "training";
  if (stages.includes("fetching") || stages.includes("queued")) return "fetching";
  if (stages.length > 0) return "uploading";
  return state.slots > 0 ? "waiting" : "resting";
}

/**
 * Returns the state after one event, and the host's effects. An event that is illegal in this phase changes nothing.
 */
export const handle = legalOnly(LEGAL_PHASES, phase, apply);

function apply(state: UnitClientState, event: UnitClientEvent): UnitClientStep {
  switch (event.type) {
    case "start": {
      const { enlist, slots, at_once: atOnce } = event;
      return start(state, { enlist, slots, atOnce, offline: 0, board: null });
    }
    case "connected":
      return greet(state, state.enlist);
    case "frame":
      return frame(state, event.frame);
    case "loaded": {
      const { checkpointed = [], ...ready } = event;
      return loaded(state, { ...ready, type: "ready", examples: 0 }, checkpointed);
    }
    case "want": {
      const { slots, at_once: atOnce, offline = 0 } = event;
      return chain({ ...state, slots, atOnce, offline }, sayWant, advance);
    }
    case "fetched":
      return fetched(state, event.lease);
    case "trained": {
      const { salt, ...result } = event;
      return trained(state, { ...result, type: "result" }, salt);
    }
    case "failed":
      return chain(
        state,
        (current) => release(current, event.lease, event.cause),
        (current) => wantAfter(current, event.lease),
        advance,
      );
    case "pulse": {
      const { lease, steps } = event;
      return findUnit(state.units, lease)
        ? sendWhenReady(state, { type: "beat", lease, steps })
        : step(state);
    }
    case "give_back":
      return giveBack({ ...state, cause: event.cause }, event.cause);
    case "wind_down":
      return windDown(state, event.cause);
    case "disconnected":
      return loseConnection(state, event.random, { idle: null, checkpointed: [] });
    case "stop":
      return chain(state, (current) => giveBack(current, "stopping"), leave, forgetAll);
  }
}

function loaded(state: UnitClientState, ready: Ready, checkpointed: readonly number[]): UnitClientStep {
  if (state.bundle === null || state.ready !== null || state.enlist === null) return step(state);
  const enlist = { ...state.enlist, backend: ready.backend };
  // The server repeats these, where nobody else has got them, or drops them.
  const beats = checkpointed.map(
    (lease) => (current: UnitClientState) => sendWhenReady(current, { type: "beat", lease, steps: 0 }),
  );
  const next = { ...state, ready, enlist, checkpointed };
  const others = checkpointed.length === 0 ? [sayWant] : [];
  return chain(next, (current) => sendWhenReady(current, ready), ...beats, ...others);
}

/** Wants other units after `lease`, if it was the last checkpointed one. */
function wantAfter(state: UnitClientState, lease: number): UnitClientStep {
  if (!state.checkpointed.includes(lease)) return step(state);
  const next = { ...state, checkpointed: state.checkpointed.filter((one) => one !== lease) };
  return next.checkpointed.length === 0 ? sayWant(next) : step(next);
}

function fetched(state: UnitClientState, lease: number): UnitClientStep {
  const units = markFetched(state.units, lease);
  const shardHash = findUnit(state.units, lease)?.unit.shard.sha256;
  if (units === null || shardHash === undefined || state.enlist === null) return step(state);
  const shards = [...state.enlist.shards.filter((one) => one !== shardHash), shardHash].slice(-MOST_HELD);
  const next = { ...state, units, enlist: { ...state.enlist, shards } };
  return chain(next, advance, (current) => wantAfter(current, lease));
}

function trained(state: UnitClientState, result: Result, salt: string | null): UnitClientStep {
  const units = markTrained(state.units, result, salt);
  return units
    ? chain({ ...state, units }, (current) => sendWhenReady(current, result), advance)
    : step(state);
}

function windDown(state: UnitClientState, cause: Cause): UnitClientStep {
  return chain(
    { ...state, slots: 0, offline: 0, cause },
    sayWant,
    ...state.units.map(({ unit: { lease }, stage }) => (current: UnitClientState) => {
      return stage === "training" ? step(current, { type: "finish", lease }) : release(current, lease, cause);
    }),
  );
}

function frame(state: UnitClientState, message: ServerToUnits): UnitClientStep {
  if (!expects(state.connection, message.type, "enlisted")) return step(state);
  switch (message.type) {
    case "closing":
      return dismiss(state, message, forgetAll);
    case "enlisted":
      return enlisted(state, message);
    case "unit":
      return unit(state, message);
    case "drop": {
      const { lease } = message;
      const after = (current: UnitClientState) => wantAfter(current, lease);
      return lacksResult(state.units, lease)
        ? chain(state, (current) => forget(current, lease), advance, after)
        : after(state);
    }
    case "credit":
      return withUnits(state, sendResult(state.units, message.round, message.until));
    case "open": {
      const { lease } = message;
      const salt = findUnit(state.units, lease)?.salt ?? null;
      return salt === null ? step(state) : sendWhenReady(state, { type: "salt", lease, salt });
    }
    case "taken":
      return taken(state, message);
    case "counted": {
      const { counted, examples, blended } = state;
      const more = { counted: counted + 1, examples: examples + message.examples };
      return closeResult({ ...state, ...more, blended: blended + Number(message.blended) }, message.lease);
    }
    case "rejected":
      return closeResult({ ...state, rejected: state.rejected + 1, reason: message.reason }, message.lease);
    case "idle":
      return step({ ...state, idle: message.cause });
    case "standing":
      return step({ ...state, standing: message });
    case "board": {
      const next = { ...state, board: message };
      return message.phase === "finished" ? forgetAll(next) : step(next);
    }
    case "renewed":
      return step(state);
  }
}

function enlisted(state: UnitClientState, { bundle }: UnitsFrameOf<"enlisted">): UnitClientStep {
  const open = openConnection(state);
  if (state.bundle !== bundle) {
    // This is the first session, or the task's model was converted again during an absence.
    const next = { ...open, bundle, ready: null };
    return chain(next, forgetAll, (current) => step(current, { type: "load", bundle }));
  }
  const { ready } = open;
  if (ready === null) return step(open);
  const resumed = { ...open, units: restartSending(open.units) };
  const results = resumed.units.map(({ result }) => result).filter((result) => result !== null);
  return chain(
    resumed,
    (current) => sendWhenReady(current, ready),
    sayWant,
    ...results.map((result) => (current: UnitClientState) => sendWhenReady(current, result)),
  );
}

function unit(state: UnitClientState, given: Unit): UnitClientStep {
  if (state.ready === null) return step(state);
  // The server repeats the unit after a reconnection; the client is already working on it.
  if (holdsUnit(state.units, given)) return step(state);
  return chain(
    { ...state, idle: null },
    (current) => forget(current, given.lease),
    (current) => take(current, given),
    advance,
  );
}

function take(state: UnitClientState, unit: Unit): UnitClientStep {
  const { lease } = unit;
  if (state.slots === 0 || state.units.length >= MOST_SLOTS) {
    return sendWhenReady(state, { type: "release", lease, cause: state.cause });
  }
  return withUnits(state, addUnit(state.units, unit));
}

function taken(state: UnitClientState, { lease, waits }: UnitsFrameOf<"taken">): UnitClientStep {
  if (!findUnit(state.units, lease)?.result) return step(state);
  const others = state.waiting.filter((one) => one !== lease);
  return forget({ ...state, waiting: waits ? [...others, lease] : state.waiting }, lease);
}

/** Takes the server's verdict on a result. */
function closeResult(state: UnitClientState, lease: number): UnitClientStep {
  const next = { ...state, waiting: state.waiting.filter((one) => one !== lease) };
  return chain(next, (current) => forget(current, lease), advance);
}

function advance(state: UnitClientState): UnitClientStep {
  return withUnits(state, beginTraining(state.units, state.atOnce));
}

function giveBack(state: UnitClientState, cause: Cause): UnitClientStep {
  return chain(
    state,
    ...state.units.map(
      ({ unit }) =>
        (current: UnitClientState) =>
          release(current, unit.lease, cause),
    ),
  );
}

/** Gives back a unit without a result. Without a connection, the server learns of it later. */
function release(state: UnitClientState, lease: number, cause: Cause): UnitClientStep {
  if (!lacksResult(state.units, lease)) return step(state);
  return chain(
    state,
    (current) => sendWhenReady(current, { type: "release", lease, cause }),
    (current) => forget(current, lease),
  );
}

function forget(state: UnitClientState, lease: number): UnitClientStep {
  return withUnits(state, forgetUnit(state.units, lease));
}

function forgetAll(state: UnitClientState): UnitClientStep {
  return withUnits(state, forgetUnits(state.units));
}

/** Puts a change of the units in hand into the machine's state. */
function withUnits(
  state: UnitClientState,
  { state: units, effects }: Step<HeldUnits, UnitClientEffect>,
): UnitClientStep {
  return step({ ...state, units }, ...effects);
}

function sayWant(state: UnitClientState): UnitClientStep {
  return sendWhenReady(state, { type: "want", slots: state.slots, offline: state.offline });
}

/** Sends a frame if the server knows that this client is ready; otherwise the state is sent when it becomes ready. */
function sendWhenReady(state: UnitClientState, frame: UnitsToServer): UnitClientStep {
  return state.ready === null ? step(state) : sendWhenOpen(state, frame);
}
