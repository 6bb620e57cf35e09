/**
 * The client side of work units, without I/O: a pure reducer. `backend/protocols/client/unit_client.py` is its mirror.
 *
 * It holds several units at once: one is fetched and another sent while one is trained. The host performs the effects in
 * order and reports events; tests/contract/vectors/worker.json holds conversations that both languages
 * replay.
 */

import {
  away,
  type Contacting,
  disconnected,
  dismissed,
  expects,
  greeted,
  left,
  NO_CONTACT,
  say as sayOn,
  started,
  welcomed,
} from "../client/connection";
import { reducer, type Step as StepOf } from "../client/reducer";
import type { Ready } from "../rounds/participant-events";
import {
  type Cause,
  MOST_HELD,
  MOST_SLOTS,
  type ServerToUnits,
  type UnitsFrameOf,
  type UnitsToServer,
} from "../wire/units";
import type { Board, Effect, Enlist, Event, IdleCause, Result, Standing, Unit } from "./unit-client-events";
import * as inHand from "./units-in-hand";

/**
 * What the client does, in the word that its page explains. `resting`: it holds nothing and wants nothing; `waiting`: the
 * server has nothing for it.
 */
export type Phase =
  | "stopped"
  | "connecting"
  | "offline"
  | "loading"
  | "waiting"
  | "resting"
  | "fetching"
  | "training"
  | "uploading"
  | "finished";

/** One client of one task's work units, over as many connections as it takes. */
export interface State extends Contacting {
  readonly enlist: Enlist | null;
  readonly bundle: string | null;
  readonly ready: Ready | null;
  readonly slots: number;
  readonly atOnce: number;
  /** What units are given back for while there are no slots. */
  readonly cause: Cause;
  readonly held: inHand.Hand;
  /** Leases whose results are compared. */
  readonly waiting: readonly number[];
  readonly counted: number;
  readonly blended: number;
  readonly rejected: number;
  readonly examples: number;
  readonly idle: IdleCause | null;
  readonly standing: Standing | null;
  readonly board: Board | null;
}

export const INITIAL: State = {
  contact: NO_CONTACT,
  enlist: null,
  bundle: null,
  ready: null,
  slots: 0,
  atOnce: 1,
  cause: "paused",
  held: [],
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

type Step = StepOf<State, Effect>;
const { step, chain } = reducer<State, Effect>();

export function phase(state: State): Phase {
  return away(state.contact) ?? work(state);
}

function work(state: State): Phase {
  if (state.ready === null) return "loading";
  if (state.board?.phase === "finished") return "finished";
  const stages = state.held.map(({ stage }) => stage);
  if (stages.includes("training")) return "training";
  if (stages.includes("fetching") || stages.includes("queued")) return "fetching";
  if (stages.length > 0) return "uploading";
  return state.slots > 0 ? "waiting" : "resting";
}

/** The state after one event, and what the host has to do. An event that makes no sense now changes nothing. */
export function handle(state: State, event: Event): Step {
  switch (event.type) {
    case "start": {
      const { enlist, slots, at_once: atOnce } = event;
      return started(state, { enlist, slots, atOnce, board: null });
    }
    case "connected":
      return greeted(state, state.enlist);
    case "frame":
      return frame(state, event.frame);
    case "loaded":
      return loaded(state, { ...event, type: "ready", examples: 0 });
    case "want": {
      const { slots, at_once: atOnce } = event;
      return chain({ ...state, slots, atOnce }, (now) => say(now, { type: "want", slots }), advance);
    }
    case "fetched":
      return fetched(state, event.lease);
    case "trained":
      return trained(state, { ...event, type: "result" });
    case "failed":
      return chain(state, (now) => release(now, event.lease, event.cause), advance);
    case "pulse": {
      const { lease, steps } = event;
      return inHand.find(state.held, lease) ? say(state, { type: "beat", lease, steps }) : step(state);
    }
    case "give_back":
      return giveBack({ ...state, cause: event.cause }, event.cause);
    case "wind_down":
      return windDown(state, event.cause);
    case "disconnected":
      return disconnected(state, event.random, { idle: null });
    case "stop":
      return chain(state, (now) => giveBack(now, "stopping"), left, forgetAll);
  }
}

function loaded(state: State, ready: Ready): Step {
  if (state.bundle === null || state.ready !== null || state.enlist === null) return step(state);
  const enlist = { ...state.enlist, backend: ready.backend };
  return chain({ ...state, ready, enlist }, (now) => say(now, ready), sayWant);
}

function fetched(state: State, lease: number): Step {
  const held = inHand.fetched(state.held, lease);
  const mine = inHand.find(state.held, lease)?.unit.shard.sha256;
  if (held === null || mine === undefined || state.enlist === null) return step(state);
  const shards = [...state.enlist.shards.filter((one) => one !== mine), mine].slice(-MOST_HELD);
  return advance({ ...state, held, enlist: { ...state.enlist, shards } });
}

function trained(state: State, result: Result): Step {
  const held = inHand.trained(state.held, result);
  return held ? chain({ ...state, held }, (now) => say(now, result), advance) : step(state);
}

function windDown(state: State, cause: Cause): Step {
  return chain(
    { ...state, slots: 0, cause },
    sayWant,
    ...state.held.map(({ unit: { lease }, stage }) => (now: State) => {
      return stage === "training" ? step(now, { type: "finish", lease }) : release(now, lease, cause);
    }),
  );
}

function frame(state: State, message: ServerToUnits): Step {
  if (!expects(state.contact, message.type, "enlisted")) return step(state);
  switch (message.type) {
    case "closing":
      return dismissed(state, message, forgetAll);
    case "enlisted":
      return enlisted(state, message);
    case "unit":
      return unit(state, message);
    case "drop":
      return inHand.lacksResult(state.held, message.lease)
        ? chain(state, (now) => forget(now, message.lease), advance)
        : step(state);
    case "credit":
      return hold(state, inHand.send(state.held, message.round, message.until));
    case "taken":
      return taken(state, message);
    case "counted": {
      const { counted, examples, blended } = state;
      const more = { counted: counted + 1, examples: examples + message.examples };
      return decided({ ...state, ...more, blended: blended + Number(message.blended) }, message.lease);
    }
    case "rejected":
      return decided({ ...state, rejected: state.rejected + 1, reason: message.reason }, message.lease);
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

function enlisted(state: State, { bundle }: UnitsFrameOf<"enlisted">): Step {
  const open = welcomed(state);
  if (state.bundle !== bundle) {
    // The first visit, or the task's model was converted again while we were away.
    const next = { ...open, bundle, ready: null };
    return chain(next, forgetAll, (now) => step(now, { type: "load", bundle }));
  }
  const { ready } = open;
  if (ready === null) return step(open);
  const again = { ...open, held: inHand.sendAnew(open.held) };
  const results = again.held.map(({ result }) => result).filter((result) => result !== null);
  return chain(
    again,
    (now) => say(now, ready),
    sayWant,
    ...results.map((result) => (now: State) => say(now, result)),
  );
}

function unit(state: State, given: Unit): Step {
  if (state.ready === null) return step(state);
  // The server repeats it after a reconnection; the work in hand is the one it asks for.
  if (inHand.has(state.held, given)) return step(state);
  return chain(
    { ...state, idle: null },
    (now) => forget(now, given.lease),
    (now) => take(now, given),
    advance,
  );
}

function take(state: State, unit: Unit): Step {
  const { lease } = unit;
  if (state.slots === 0 || state.held.length >= MOST_SLOTS) {
    return say(state, { type: "release", lease, cause: state.cause });
  }
  return hold(state, inHand.take(state.held, unit));
}

function taken(state: State, { lease, waits }: UnitsFrameOf<"taken">): Step {
  if (!inHand.find(state.held, lease)?.result) return step(state);
  const others = state.waiting.filter((one) => one !== lease);
  return forget({ ...state, waiting: waits ? [...others, lease] : state.waiting }, lease);
}

/** Whether the result counts is known. */
function decided(state: State, lease: number): Step {
  const next = { ...state, waiting: state.waiting.filter((one) => one !== lease) };
  return chain(next, (now) => forget(now, lease), advance);
}

function advance(state: State): Step {
  return hold(state, inHand.begin(state.held, state.atOnce));
}

function giveBack(state: State, cause: Cause): Step {
  return chain(
    state,
    ...state.held.map(
      ({ unit }) =>
        (now: State) =>
          release(now, unit.lease, cause),
    ),
  );
}

/** Gives back what has no result. While the connection is lost, the server hears of it later. */
function release(state: State, lease: number, cause: Cause): Step {
  if (!inHand.lacksResult(state.held, lease)) return step(state);
  return chain(
    state,
    (now) => say(now, { type: "release", lease, cause }),
    (now) => forget(now, lease),
  );
}

function forget(state: State, lease: number): Step {
  return hold(state, inHand.forget(state.held, lease));
}

function forgetAll(state: State): Step {
  return hold(state, inHand.forgetAll(state.held));
}

/** What became of the units in hand is a step of the machine. */
function hold(state: State, { state: held, effects }: StepOf<inHand.Hand, Effect>): Step {
  return step({ ...state, held }, ...effects);
}

function sayWant(state: State): Step {
  return say(state, { type: "want", slots: state.slots });
}

/** To a server that knows that this client is ready; others hear it when they do. */
function say(state: State, frame: UnitsToServer): Step {
  return state.ready === null ? step(state) : sayOn(state, frame);
}
