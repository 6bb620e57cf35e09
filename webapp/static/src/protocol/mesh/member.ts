/**
 * What a peer of a mesh does, without I/O: a pure reducer. `backend/protocols/mesh/member.py` is its mirror.
 *
 * It trains by the server's plans, averages in the groups that the server names, and goes on with both while the server is
 * away. The host (client/mesh/session.ts) performs the effects in order and reports events;
 * tests/contract/vectors/mesh_member.json holds conversations that both languages replay. Its parts:
 * protocol/client/connection.ts has the connection, member-work.ts a round's work, protocol/client/evaluation.ts what
 * is measured, member-entry.ts what a peer says of itself.
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
  say,
  started,
  welcomed,
} from "../client/connection";
import { type Exam, examine, forgetExam, isMeasuring, measured, NO_EXAM } from "../client/evaluation";
import { reducer, type Step as StepOf } from "../client/reducer";
import type { Evaluate, Ready, Train } from "../rounds/participant-events";
import type { Certificate, GroupOrder, PeerToServer, ServerToPeer } from "../wire/mesh";
import * as entry from "./member-entry";
import type { Agreement, Averaged, Effect, Enter, Entered, Event, Failed } from "./member-events";
import { aborted, awaits, type InHand, isOf, isWork, NOTHING, repeats, toldOf } from "./member-work";

/** What the peer does, in the word that its page explains. */
export type Phase =
  | "stopped"
  | "connecting"
  | "offline"
  | "loading"
  | "waiting"
  | "training"
  | "trained"
  | "averaging"
  | "evaluating"
  | "finished";

/** One peer of one task's mesh, over as many connections as it takes. */
export interface State extends Contacting {
  readonly enter: Enter | null;
  readonly entered: Entered | null;
  readonly ready: Ready | null;
  /** Whether this connection's server knows that: in a group it waits until that has ended. */
  readonly saidReady: boolean;
  readonly inHand: InHand;
  readonly exam: Exam;
  /** Whether that is what the peers agreed on without the server: then it is nothing to the server. */
  readonly byPeers: boolean;
  readonly finished: boolean;
  /** Groups that ended with a result for this peer, and without. */
  readonly averaged: number;
  readonly failed: number;
}

export const INITIAL: State = {
  contact: NO_CONTACT,
  enter: null,
  entered: null,
  ready: null,
  saidReady: false,
  inHand: NOTHING,
  exam: NO_EXAM,
  byPeers: false,
  finished: false,
  averaged: 0,
  failed: 0,
  reason: null,
};

type Step = StepOf<State, Effect>;
const { step, chain } = reducer<State, Effect>();

export function phase(state: State): Phase {
  const without = away(state.contact);
  // What the peers agreed on goes on without the server.
  const goesOn = state.byPeers && (isWork(state.inHand) || isMeasuring(state.exam));
  return without === null || (without !== "stopped" && goesOn) ? work(state) : without;
}

/** What it does while it is connected, or would do. */
export function work(state: State): Phase {
  if (state.ready === null) return "loading";
  if (state.finished) return "finished";
  if (state.inHand.group !== null) return "averaging";
  if (isWork(state.inHand)) return state.inHand.trained ? "trained" : "training";
  return isMeasuring(state.exam) ? "evaluating" : "waiting";
}

/** The state after one event, and what the host has to do. An event that makes no sense now changes nothing. */
export function handle(state: State, event: Event): Step {
  switch (event.type) {
    case "start":
      return started(state, { enter: event.enter, finished: false, byPeers: false });
    case "connected":
      return connected(state);
    case "frame":
      return frame(state, event.frame);
    case "agreed":
      return agreed(state, event.frame);
    case "loaded":
      return loaded(state, { ...event, type: "ready" });
    case "trained":
      return trained(state, event);
    case "averaged":
      return averaged(state, event);
    case "failed":
      return failed(state, event);
    case "certified":
      return certified(state, event.certificate);
    case "measured":
      return measured(state, event);
    case "disconnected":
      // Training and averaging go on: neither needs the server.
      return disconnected(state, event.random, { saidReady: false });
    case "stop":
      return chain(state, left, forgetAll);
  }
}

function connected(state: State): Step {
  const enter = state.enter && { ...state.enter, backend: state.ready?.backend ?? state.enter.backend };
  return greeted(state, enter, { enter });
}

function loaded(state: State, ready: Ready): Step {
  if (state.entered === null || state.ready !== null) return step(state);
  return sayReady({ ...state, ready });
}

function trained(state: State, event: Extract<Event, { type: "trained" }>): Step {
  const report = toldOf(state.inHand, event);
  if (report === null) return step(state);
  const enter = state.enter && entry.fetched(state.enter, report);
  return say({ ...state, inHand: { ...state.inHand, trained: report }, enter }, report);
}

function averaged(state: State, event: Averaged): Step {
  if (!isOf(state.inHand, event)) return step(state);
  const enter = state.enter && entry.averaged(state.enter, event);
  return reported({ ...state, averaged: state.averaged + 1, enter }, event);
}

function failed(state: State, event: Failed): Step {
  if (!isOf(state.inHand, event)) return step(state);
  return reported({ ...state, failed: state.failed + 1, reason: event.reason }, event);
}

function reported(state: State, report: Averaged | Failed): Step {
  const byPeers = state.byPeers && state.contact.link !== "open";
  return chain(
    { ...state, inHand: { ...state.inHand, group: null, report }, byPeers },
    // In this order: with the report the server knows what this peer holds before it makes new plans.
    (now) => say(now, report),
    (now) => (now.saidReady ? step(now) : sayReady(now)),
  );
}

function certified(state: State, certificate: Certificate): Step {
  return step(state.enter ? { ...state, enter: entry.certified(state.enter, certificate) } : state);
}

function sayReady(state: State): Step {
  if (state.ready === null || state.contact.link !== "open") return step(state);
  return say({ ...state, saidReady: true }, state.ready);
}

function frame(state: State, message: ServerToPeer): Step {
  if (!expects(state.contact, message.type, "entered")) return step(state);
  switch (message.type) {
    case "closing":
      return dismissed(state, message, forgetAll);
    case "entered":
      return entered(state, message);
    case "train":
      return train(state, message);
    case "group":
      return group(state, message);
    case "deposit":
      return step(state, { type: "deposit", weights: message.weights });
    case "evaluate":
      return evaluate(state, message);
    case "version":
      return chain(
        state,
        (now) => forgetExam(now, message.version - 1),
        (now) => over(now, message.round),
      );
    case "abandoned":
      return over(state, message.round);
    case "evaluated":
      return message.source === "clients" ? forgetExam(state, message.version) : step(state);
    case "state": {
      const finished = message.phase === "finished";
      return chain(
        { ...state, finished },
        (now) => forgetExam(now, message.version - 1),
        (now) => (finished ? forgetAll(now) : over(now, message.round - 1)),
      );
    }
    case "members":
    case "signalled":
    case "relayed":
    case "unreachable":
      // The host's links deal with these.
      return step(state);
  }
}

/** Stands for what the server would say; while that is there, it says so itself. */
function agreed(state: State, message: Agreement): Step {
  const { link } = state.contact;
  const alone = link === "lost" || link === "greeted";
  if (!alone || state.ready === null || state.finished) return step(state);
  const next = { ...state, byPeers: true };
  switch (message.type) {
    case "train":
      return train(next, message);
    case "group":
      return group(next, message);
    case "evaluate":
      return evaluate(next, message);
  }
}

/** The server is back: what it did not order, and is not in a group, ends. */
function forgetAgreed(state: State): Step {
  if (!state.byPeers) return step(state);
  const next = { ...state, byPeers: false };
  return chain(
    next,
    (now) => (now.inHand.report === null ? forgetRound(now) : step(now)),
    (now) => forgetExam(now),
  );
}

function entered(state: State, message: Entered): Step {
  const open = welcomed({ ...state, entered: message });
  if (state.entered?.bundle !== message.bundle) {
    // The first visit, or the task's model was converted again while we were away.
    const enter = open.enter && entry.withoutForeign(open.enter, message.bundle);
    const forgotten = forgetAll({ ...open, enter, ready: null, byPeers: false });
    return step(forgotten.state, ...forgotten.effects, { type: "load", bundle: message.bundle });
  }
  if (open.ready === null || open.inHand.group !== null) return step(open);
  const saying = (...frames: (PeerToServer | null)[]) =>
    frames.filter((one) => one !== null).map((one) => (now: State) => say(now, one));
  const { state: known, effects } = forgetAgreed(open);
  const { report, trained } = known.inHand;
  const waiting = report === null ? trained : null;
  const said = chain(known, ...saying(report), sayReady, ...saying(waiting, known.exam.evaluation));
  return step(said.state, ...effects, ...said.effects);
}

function train(state: State, plan: Train): Step {
  if (state.ready === null) return step(state);
  const { trained, group } = state.inHand;
  if (repeats(state.inHand, plan)) {
    // The server repeats the plan after a reconnection; the work in hand is the one it asks for. A server that was
    // restarted opens the round only now, and has passed over what was said on entering.
    return trained && group === null ? say(state, trained) : step(state);
  }
  const begun = { inHand: { ...NOTHING, plan }, finished: false };
  return chain(state, forgetAll, (now) => step({ ...now, ...begun }, { type: "train", plan }));
}

/** An order counts once, for what was trained, and only for a group that this peer is in. */
function group(state: State, order: GroupOrder): Step {
  const { entered } = state;
  if (!awaits(state.inHand, order)) return step(state);
  if (entered === null || !order.members.includes(entered.client)) return step(state);
  return step({ ...state, inHand: { ...state.inHand, group: order } }, { type: "average", group: order });
}

/** Training and averaging come first: who does either says nothing. */
function evaluate(state: State, order: Evaluate): Step {
  if (state.ready === null || (state.inHand.plan !== null && state.inHand.report === null))
    return step(state);
  return examine(state, order);
}

/**
 * The round, and all before it, are over for the server. A group goes on to its own end. Who had not come to one must say
 * that it is ready for the next round.
 */
function over(state: State, round: number): Step {
  const { plan, group, report } = state.inHand;
  if (plan === null || plan.round > round || group !== null) return step(state);
  const late = report === null;
  return chain(state, forgetRound, (now) => (late ? sayReady(now) : step(now)));
}

function forgetRound(state: State): Step {
  return step({ ...state, inHand: NOTHING }, ...aborted(state.inHand));
}

function forgetAll(state: State): Step {
  return chain(state, forgetRound, (now) => forgetExam(now));
}
